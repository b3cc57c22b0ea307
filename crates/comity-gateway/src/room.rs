use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for bodies that wait to be read: however slowly customers read, so many bytes lie here at most.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    kib: Arc<Semaphore>,
    all: u32,
}

/// A body with its room, which is given back with the last of its bytes.
struct Lying {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Lying {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    /// Room for so many bytes, counted in KiB.
    pub(crate) fn new(bytes: u64) -> Self {
        // A semaphore counts to 2^29 at least; room for half a terabyte is enough.
        let all = u32::try_from((bytes >> 10).clamp(1, 1 << 29)).unwrap_or(1);
        Self { kib: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// True when there is no room for anything: nothing need be fetched then.
    pub(crate) fn is_full(&self) -> bool {
        self.kib.available_permits() == 0
    }

    /// Lays a body down; `None` when there is no room. Never waits: a body that waited would lie somewhere else.
    pub(crate) fn lay(&self, bytes: Bytes) -> Option<Bytes> {
        if bytes.is_empty() {
            return Some(bytes);
        }
        let kib = u32::try_from(bytes.len().div_ceil(1024)).unwrap_or(self.all).min(self.all);
        let room = self.kib.clone().try_acquire_many_owned(kib).ok()?;
        Some(Bytes::from_owner(Lying { bytes, _room: room }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_and_given_back_with_the_last_byte() {
        let room = Room::new(10 << 10);
        let lay = |kib: usize| room.lay(vec![1; kib << 10].into());
        let body = lay(8).unwrap();
        assert!(lay(3).is_none() && !room.is_full(), "no room");
        let little = lay(2).unwrap();
        assert!(room.is_full());
        drop(little);
        let rest = body.slice(8000..);
        drop(body);
        assert!(lay(3).is_none(), "a byte of it lies there");
        drop(rest);
        drop(lay(3).unwrap());
        assert_eq!(lay(50).unwrap().len(), 50 << 10, "one that is larger than the room has all of it");
        assert!(room.lay(Bytes::new()).is_some());
    }
}
