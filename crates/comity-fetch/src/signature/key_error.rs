use std::fmt;
use std::io;

/// Why a signing key is refused. `Display` says what is wrong, [`KeyError::hint`] what to do.
#[non_exhaustive]
#[derive(Debug)]
pub enum KeyError {
    /// The file cannot be opened, read or written.
    File(io::Error),
    /// The file may be read or written by others; its permission bits.
    Permissions(u32),
    /// There is a file of that name already.
    Exists,
    /// It is no regular file.
    NoFile,
    /// It is larger than any key.
    TooLarge,
    /// It is neither PEM with a private key nor a JWK.
    NoKey,
    /// It holds more than one private key.
    SeveralKeys(usize),
    /// The key is encrypted with a passphrase.
    Encrypted,
    /// A private key, but not Ed25519; what it is.
    OtherKind(String),
    /// The JWK is the public half.
    PublicOnly,
    /// The key is damaged; how.
    Broken(String),
    /// The key is one that a specification publishes: anybody could sign with it.
    TestKey,
    /// The system has no randomness to make a key of.
    NoEntropy,
}

impl KeyError {
    /// What to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Permissions(_) => "chmod 600 the file; if others could have read it, make a new key",
            Self::Exists => "give another name: a key is never written over",
            Self::Encrypted => {
                "openssl pkey -in FILE -out NEW writes it without one; protect the file by its permissions"
            }
            Self::File(_) | Self::NoEntropy => "check the path and that it may be read and written by you alone",
            _ => "comity identity key new FILE makes one",
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Permissions(mode) => write!(f, "others than its owner may read or write this key (mode {mode:04o})"),
            Self::Exists => f.write_str("exists already"),
            Self::NoFile => f.write_str("is no regular file"),
            Self::TooLarge => f.write_str("is too large for a key"),
            Self::NoKey => f.write_str("holds no private key: neither PKCS#8 in PEM nor a JWK"),
            Self::SeveralKeys(count) => write!(f, "holds {count} private keys: which one signs would be a guess"),
            Self::Encrypted => f.write_str("holds a key that is locked with a passphrase"),
            Self::OtherKind(kind) => write!(f, "holds a key of another kind ({kind}): only Ed25519 signs"),
            Self::PublicOnly => f.write_str("holds the public half of a key only (no \"d\")"),
            Self::Broken(how) => write!(f, "holds a broken key: {how}"),
            Self::TestKey => f.write_str("holds a key that an RFC publishes as an example: everybody can sign with it"),
            Self::NoEntropy => f.write_str("the system gives no random bytes to make a key of"),
        }
    }
}

impl std::error::Error for KeyError {}
