use std::error::Error;
use std::fmt;

/// What the crawl's author keeps with a URL: any bytes, [`UserData::MOST`] at most. Nothing here looks into them.
///
/// It stands in the queue beside its URL, goes with it from visit to visit, and is gone with it: a bound for one URL is a
/// bound for the whole queue.
#[derive(Clone, PartialEq, Eq)]
pub struct UserData(Box<[u8]>);

/// Why bytes are no [`UserData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserDataTooLong {
    /// How many there are.
    pub bytes: usize,
}

impl UserData {
    /// The most bytes. Our choice: what one record of a page is found by, and no page itself.
    pub const MOST: usize = 4096;

    /// Takes bytes.
    ///
    /// # Errors
    /// More than [`UserData::MOST`].
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<Self, UserDataTooLong> {
        let bytes = bytes.into();
        if bytes.len() > Self::MOST { Err(UserDataTooLong { bytes: bytes.len() }) } else { Ok(Self(bytes)) }
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Its length: what is in it may be anybody's.
impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserData({} bytes)", self.0.len())
    }
}

impl fmt::Display for UserDataTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user data of {} bytes, {} at most may be kept with a URL", self.bytes, UserData::MOST)
    }
}

impl Error for UserDataTooLong {}
