use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::str::FromStr;

use data_encoding::BASE64;
use http::HeaderValue;
use zeroize::Zeroizing;

/// User name and password for an exit. `Debug` shows neither; nothing else shows them at all.
///
/// They are sent to that exit and to nobody else: in SOCKS5 before anything of a site is said (RFC 1929), to an HTTP
/// proxy in `Proxy-Authorization` (RFC 9110 §11.7.2), which stands in no capture.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: Zeroizing<String>,
    password: Zeroizing<String>,
}

/// The most bytes of a file of credentials: two of the longest and what stands around them.
const LARGEST: u64 = 1024;
/// RFC 1929 §2: a length is one byte, and 0 is none.
const LONGEST: usize = 255;

impl Credentials {
    /// Reads `user:password` from a file, the first colon parts them; a line end after them is left out.
    ///
    /// # Errors
    /// [`NoCredentials`]; among them a file that others may read or write (on Unix).
    pub fn read(path: &Path) -> Result<Self, NoCredentials> {
        let io = |error: io::Error| NoCredentials::File(error.kind());
        // Looked at before it is opened too: to open a pipe would wait for its writer.
        check(&std::fs::metadata(path).map_err(io)?)?;
        let file = File::open(path).map_err(io)?;
        check(&file.metadata().map_err(io)?)?;
        let mut text = Zeroizing::new(String::new());
        file.take(LARGEST + 1).read_to_string(&mut text).map_err(io)?;
        text.trim_end_matches(['\r', '\n']).parse()
    }

    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    /// The value of Proxy-Authorization (RFC 7617 §2).
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let pair = Zeroizing::new(format!("{}:{}", *self.user, *self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64.encode(pair.as_bytes()))).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl FromStr for Credentials {
    type Err = NoCredentials;

    fn from_str(text: &str) -> Result<Self, NoCredentials> {
        let (user, password) = text.split_once(':').ok_or(NoCredentials::Form)?;
        let fits = |part: &str| (1..=LONGEST).contains(&part.len()) && !part.contains(|c: char| c.is_control());
        if !fits(user) || !fits(password) {
            return Err(NoCredentials::Form);
        }
        Ok(Self { user: Zeroizing::new(user.to_owned()), password: Zeroizing::new(password.to_owned()) })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(withheld)")
    }
}

/// Why there are no credentials. Never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCredentials {
    /// The file cannot be read as text.
    File(io::ErrorKind),
    /// It is no regular file.
    NoFile,
    /// Others may read or write it; its permission bits.
    Permissions(u32),
    /// Not `user:password`, each 1 to 255 bytes without control characters.
    Form,
}

impl NoCredentials {
    /// What to do next.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::File(_) | Self::NoFile => "check the path: one line, user:password",
            Self::Permissions(_) => "chmod 600 the file; if others could have read it, change the password",
            Self::Form => "one line, user:password; a colon belongs to the password",
        }
    }
}

impl fmt::Display for NoCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(kind) => write!(f, "it cannot be read: {kind}"),
            Self::NoFile => f.write_str("it is no file"),
            Self::Permissions(mode) => write!(f, "others may read or write it (mode {mode:o})"),
            Self::Form => f.write_str("no user:password, each of 1 to 255 bytes"),
        }
    }
}

impl std::error::Error for NoCredentials {}

fn check(metadata: &std::fs::Metadata) -> Result<(), NoCredentials> {
    if !metadata.is_file() {
        return Err(NoCredentials::NoFile);
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(metadata) & 0o777;
        if mode & 0o077 != 0 {
            return Err(NoCredentials::Permissions(mode));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_two_parts_and_never_shown() {
        let long = "x".repeat(255);
        for good in ["user:pass", "user:pa:ss", &format!("{long}:{long}"), "ü:ä"] {
            let credentials: Credentials = good.parse().unwrap();
            assert_eq!(format!("{}:{}", credentials.user(), credentials.password()), good);
            assert_eq!(format!("{credentials:?}"), "Credentials(withheld)");
            let value = credentials.basic().unwrap();
            assert!(value.is_sensitive());
        }
        for bad in ["", "user", ":pass", "user:", "us\ner:pass", &format!("{long}x:p"), &format!("u:{long}x")] {
            assert_eq!(bad.parse::<Credentials>(), Err(NoCredentials::Form), "{bad}");
        }
        let basic = "Aladdin:open sesame".parse::<Credentials>().unwrap().basic().unwrap();
        assert_eq!(basic, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "the example of RFC 7617 §2");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("proxy.secret");
        std::fs::write(&path, "user:pass\n").unwrap();
        for (mode, refused) in [(0o600, None), (0o400, None), (0o640, Some(0o640)), (0o604, Some(0o604))] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = Credentials::read(&path).map(|credentials| credentials.password().to_owned());
            assert_eq!(
                read,
                refused.map_or_else(|| Ok("pass".to_owned()), |mode| Err(NoCredentials::Permissions(mode)))
            );
        }
        assert_eq!(Credentials::read(dir.path()), Err(NoCredentials::NoFile));
        assert_eq!(Credentials::read(&dir.path().join("none")), Err(NoCredentials::File(io::ErrorKind::NotFound)));
    }
}
