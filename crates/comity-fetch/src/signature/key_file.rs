use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use data_encoding::BASE64;
use ring::rand::SecureRandom as _;
use zeroize::Zeroizing;

use super::{KeyError, SigningKey};

/// No Ed25519 key is larger, whatever stands around it.
const LARGEST: u64 = 64 << 10;

/// PKCS#8 version 1 around an Ed25519 seed (RFC 8410 §7, §10.3): everything before the 32 bytes.
const PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

impl SigningKey {
    /// Reads a key file: PKCS#8 in PEM, or a JWK.
    ///
    /// # Errors
    /// [`KeyError`]; among them a file that others may read or write (on Unix; elsewhere its access list is not looked at).
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        // Looked at before it is opened too: to open a pipe would wait for its writer.
        check(&std::fs::metadata(path).map_err(KeyError::File)?)?;
        let file = File::open(path).map_err(KeyError::File)?;
        check(&file.metadata().map_err(KeyError::File)?)?;
        let mut text = Zeroizing::new(Vec::new());
        file.take(LARGEST + 1).read_to_end(&mut text).map_err(KeyError::File)?;
        if text.len() as u64 > LARGEST { Err(KeyError::TooLarge) } else { Self::parse(&text) }
    }

    /// Makes a key from the system's randomness and writes it as PKCS#8 in PEM into a new file that only its owner may
    /// read and write (mode 0600).
    ///
    /// # Errors
    /// [`KeyError::Exists`] when there is a file of that name, which is left alone; [`KeyError::File`] when it cannot be
    /// written, and then it is not left behind.
    pub fn create(path: &Path) -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        ring::rand::SystemRandom::new().fill(&mut *seed).map_err(|_| KeyError::NoEntropy)?;
        let key = Self::from_seed(&seed)?;
        let mut file = create_private(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => KeyError::Exists,
            _ => KeyError::File(error),
        })?;
        let written = file.write_all(pem(&seed).as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // Half a key is of no use; when it cannot be removed either, the first error is the one to report.
            drop(std::fs::remove_file(path));
            KeyError::File(error)
        })?;
        Ok(key)
    }
}

fn pem(seed: &[u8; 32]) -> Zeroizing<String> {
    let der = Zeroizing::new([PKCS8.as_slice(), seed].concat());
    let text = Zeroizing::new(BASE64.encode(&der));
    Zeroizing::new(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", *text))
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn check(metadata: &std::fs::Metadata) -> Result<(), KeyError> {
    if !metadata.is_file() {
        return Err(KeyError::NoFile);
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(metadata) & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Permissions(mode));
        }
    }
    Ok(())
}
