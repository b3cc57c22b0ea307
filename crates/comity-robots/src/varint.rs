//! Numbers in as few bytes as they need: seven bits each, the lowest first, the top bit set on all but the last (LEB128).

use alloc::vec::Vec;

pub(crate) fn put(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front; `None` when there is none, or none of 32 bits.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u32> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    if *first < 0x80 { Some(u32::from(*first)) } else { take_long(u32::from(first & 0x7F), bytes) }
}

fn take_long(mut value: u32, bytes: &mut &[u8]) -> Option<u32> {
    for shift in [7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u32::from(byte & 0x7F);
        // Too large a number, or one with a zero too many: every number is written in one way only.
        if bits << shift >> shift != bits || *byte == 0 {
            return None;
        }
        value |= bits << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, 1 << 21, 1 << 28, u32::MAX - 1, u32::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            bytes.push(9);
            let mut left = bytes.as_slice();
            assert_eq!((take(&mut left), left), (Some(value), &[9][..]), "{value}");
        }
    }

    #[test]
    fn no_numbers() {
        for bytes in [&[][..], &[0x80], &[0xFF; 5], &[0x80, 0x80, 0x80, 0x80, 0x10], &[0x80; 9], &[0x80, 0]] {
            assert_eq!(take(&mut &*bytes), None, "{bytes:?}");
        }
    }
}
