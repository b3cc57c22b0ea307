//! Files written to hurt: 500 KiB of legal rules.

use comity_robots::MAX_BYTES;

/// Rules that a file of 500 KiB repeats, with a number in place of `N`, and what they are called.
pub(crate) const SHAPES: [(&str, &str); 6] = [
    ("4 stars", "Disallow: /a*a*a*a*bN\n"),
    ("64 stars", STARS_64),
    ("1 star, no head", "Disallow: /*aaN\n"),
    ("almost a match", "Disallow: /*aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaN$\n"),
    ("one long head", "Disallow: /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/N\n"),
    ("every byte rare", "Disallow: /*a*a*a*a*a*a*a*a*a*a*a$\nDisallow: /*N\n"),
];

const STARS_64: &str = "Disallow: /a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a\
*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*bN\n";

/// A file of the shape, as long as is parsed.
pub(crate) fn file(shape: &str) -> Vec<u8> {
    let mut text = String::from("User-agent: *\n");
    for number in 10_000.. {
        let rule = shape.replace('N', &format!("{number:x}"));
        if text.len() + rule.len() > MAX_BYTES {
            break;
        }
        text.push_str(&rule);
    }
    text.into_bytes()
}

/// 50,000 literal rules, as many as fit; and a path that one of them matches.
pub(crate) fn many_rules() -> Vec<u8> {
    let mut text = String::from("user-agent:*\n");
    for number in 10_000..60_000 {
        text.push_str(&format!("allow:/{number:x}\n"));
    }
    text.truncate(MAX_BYTES);
    text.into_bytes()
}

/// A path of 2,000 letters, which almost matches every shape.
pub(crate) fn path() -> Vec<u8> {
    [b"/", "a".repeat(1999).as_bytes()].concat()
}
