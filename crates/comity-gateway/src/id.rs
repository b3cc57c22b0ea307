use comity_policy::{Random, WallTime};

/// A ULID: 48 bits of milliseconds and 80 random ones in Crockford's base 32, so that ids sort by time.
///
/// Names a decision in answer, log and report; no secret.
pub(crate) fn decision_id(now: WallTime, random: &dyn Random) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let millis = u128::try_from(now.unix_millis()).unwrap_or(0) & 0xffff_ffff_ffff;
    let drawn = (u128::from(random.next_u64()) << 16) | u128::from(random.next_u64() >> 48);
    let bits = (millis << 80) | drawn;
    let digit = |place: u32| DIGITS.get(((bits >> (place * 5)) & 31) as usize).copied().unwrap_or(b'0');
    (0..26).rev().map(digit).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use comity_policy::SeededRandom;

    #[test]
    fn ids_are_ulids_and_sort_by_time() {
        let random = SeededRandom::new(1);
        let first = decision_id(WallTime::from_unix_millis(1_469_922_850_259), &random);
        assert!(first.starts_with("01ARZ3NDEK"), "the example of the ULID specification: {first}");
        assert_eq!(first.len(), 26);
        let later = decision_id(WallTime::from_unix_millis(1_469_922_850_260), &random);
        assert!(first < later);
    }
}
