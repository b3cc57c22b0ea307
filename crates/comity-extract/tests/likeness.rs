//! Near-duplicates: what is alike, and what that costs a site.

#![expect(clippy::unwrap_used, reason = "the origins of the tests are constants")]

use comity_extract::{DuplicateBudget, Likeness, LinkAllowance, TextSketch};
use comity_url::{GrowthRow, Origin};
use proptest::collection::vec;
use proptest::prelude::*;

fn likeness(page: &str) -> Option<Likeness> {
    let mut sketch = TextSketch::default();
    sketch.push(page.as_bytes());
    sketch.finish()
}

/// So many different words, from a seed.
fn prose(seed: u64, words: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (0..5).map(|n| char::from(b'a' + u8::try_from(state >> (8 * n) & 15).unwrap())).collect::<String>()
    };
    (0..words).map(|_| word() + " ").collect()
}

#[test]
fn copies_are_alike_and_other_texts_are_not() {
    let text = prose(1, 400);
    let page = |links: &str, number: u32| {
        format!(
            "<html><script>var x = {number};</script><a href=/{number}>{links}</a><p>{text}</p><b>{number}</b></html>"
        )
    };
    let one = likeness(&page("next day", 1)).unwrap();
    for number in 2..50 {
        let other =
            likeness(&page(&format!("{number} and so on {}", "more ".repeat(number as usize)), number)).unwrap();
        assert!(one.is_near(other), "{number}: {}", one.distance(other));
    }
    for seed in 2..200 {
        let other = likeness(&prose(seed, 400)).unwrap();
        assert!(one.distance(other) > 8, "{seed}: {}", one.distance(other));
    }
    assert_eq!(likeness("<p>Too little to tell.</p>"), None);
    assert_eq!(likeness(&format!("<a>{text}</a><style>{text}</style>")), None);
}

#[test]
fn cuts_change_nothing() {
    let page = format!("<p class='x'>{}</p><SCRIPT>{}</SCRIPT >{}", prose(1, 300), prose(2, 300), prose(3, 20_000));
    let whole = likeness(&page);
    for piece in [1, 2, 3, 1000, 65_535] {
        let mut sketch = TextSketch::default();
        page.as_bytes().chunks(piece).for_each(|chunk| sketch.push(chunk));
        assert_eq!(sketch.finish(), whole, "pieces of {piece}");
    }
}

fn allowance(budget: &mut DuplicateBudget, origin: &Origin, likeness: Option<Likeness>) -> LinkAllowance {
    budget.count(origin, likeness).0
}

#[test]
fn the_budget_diminishes_and_other_pages_are_free() {
    let (a, b) = (Origin::parse("http://a.test").unwrap(), Origin::parse("http://b.test").unwrap());
    let mut budget = DuplicateBudget::new(80);
    let (mut all, mut some, mut none) = (0_usize, Vec::new(), 0_usize);
    for _ in 0..400 {
        let likeness = budget.wants(&a).then_some(Likeness(7));
        match allowance(&mut budget, &a, likeness) {
            LinkAllowance::All => all += 1,
            LinkAllowance::AtMost(0) => none += 1,
            LinkAllowance::AtMost(most) => some.push(most),
        }
    }
    // Pages count by fours until the group is spent: it may be found so a few pages late.
    assert!((80..=84).contains(&all), "{all}");
    assert!(some.is_sorted_by(|one, next| one >= next) && (66..=70).contains(&some.len()) && some[0] == 64, "{some:?}");
    assert_eq!(all + some.len() + none, 400);
    // Another text on the same origin, and the same text on another.
    assert_eq!(allowance(&mut budget, &a, Some(Likeness(u64::MAX))), LinkAllowance::All);
    assert!(!budget.wants(&b));
    assert_eq!(allowance(&mut budget, &b, Some(Likeness(7))), LinkAllowance::All);
    let mut off = DuplicateBudget::new(0);
    assert!((0..1000).all(|_| allowance(&mut off, &a, Some(Likeness(7))) == LinkAllowance::All && !off.wants(&a)));
}

#[test]
fn groups_are_bounded_and_the_largest_stays() {
    let a = Origin::parse("http://a.test").unwrap();
    let mut budget = DuplicateBudget::new(8);
    for n in 0..2000_u64 {
        budget.count(&a, Some(Likeness(7)));
        budget.count(&a, Some(Likeness(n.wrapping_mul(0x9E37_79B9_7F4A_7C15))));
    }
    assert_eq!(allowance(&mut budget, &a, Some(Likeness(7))), LinkAllowance::AtMost(0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Cut off after any page, and gone on with from the rows of what was counted, or from those of all that was: it counts as if
    /// it had never been cut off.
    #[test]
    fn what_is_counted_on_is_what_was_counted(
        pages in vec((0..3_u8, prop_oneof![3 => 0..4_u64, 1 => 0..60_u64]), 1..300),
        cut in 0..300_usize,
        is_anew in any::<bool>(),
    ) {
        let origins: Vec<Origin> = (0..3).map(|n| Origin::parse(&format!("http://h{n}.test")).unwrap()).collect();
        // Far from each other, but for every fourth.
        let print = |name: u64| (name / 4 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (name % 4 / 3);
        let mut whole = DuplicateBudget::new(16);
        let mut parted = DuplicateBudget::new(16);
        let mut rows: Vec<GrowthRow> = Vec::new();
        for (at, (host, name)) in pages.into_iter().enumerate() {
            if at == cut {
                let rows: Vec<_> = if is_anew { parted.rows().collect() } else { std::mem::take(&mut rows) };
                parted = DuplicateBudget::new(16);
                rows.iter().for_each(|row| parted.restore(&GrowthRow::from_bytes(&row.to_bytes()).unwrap()));
            }
            let origin = &origins[usize::from(host)];
            let wants = whole.wants(origin);
            prop_assert_eq!(parted.wants(origin), wants);
            let likeness = wants.then(|| Likeness(print(name)));
            let ((expected, _), (got, row)) = (whole.count(origin, likeness), parted.count(origin, likeness));
            prop_assert_eq!(got, expected);
            let row = row.unwrap();
            match rows.last_mut() {
                Some(last) if let Some(both) = last.with(&row) => *last = both,
                _ => rows.push(row),
            }
        }
        prop_assert_eq!(whole.rows().collect::<Vec<_>>(), parted.rows().collect::<Vec<_>>());
    }
}
