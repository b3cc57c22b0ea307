//! From bytes to lines to keys and values (RFC 9309 §2.2, Google's parser).

mod shared;

use shared::{Row, bytes_row, check, row};

const A: &str = "https://e.test/a";

#[test]
fn byte_order_mark() {
    check(&[
        row("google_mark_is_skipped", "\u{feff}User-agent: FooBot\nDisallow: /a\n", A, false),
        bytes_row("google_two_bytes_of_a_mark", b"\xEF\xBBUser-agent: FooBot\nDisallow: /a\n", A, false),
        bytes_row("google_one_byte_of_a_mark", b"\xEFUser-agent: FooBot\nDisallow: /a\n", A, false),
        bytes_row("google_tail_of_a_mark_spoils", b"\xBB\xBFUser-agent: FooBot\nDisallow: /a\n", A, true),
        bytes_row("google_gap_in_a_mark_spoils", b"\xEF\xBFUser-agent: FooBot\nDisallow: /a\n", A, true),
        row("google_second_mark_spoils", "\u{feff}\u{feff}User-agent: FooBot\nDisallow: /a\n", A, true),
        row("google_mark_before_a_rule_spoils", "User-agent: FooBot\n\u{feff}Disallow: /a\n", A, true),
        bytes_row("google_utf16_gives_no_rules", b"\xFF\xFEU\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0 \0*\0\n\0", A, true),
    ]);
}

#[test]
fn line_ends() {
    check(&[
        row("rfc_2_2_lf", "User-agent: FooBot\nDisallow: /a\n", A, false),
        row("rfc_2_2_cr", "User-agent: FooBot\rDisallow: /a\r", A, false),
        row("rfc_2_2_crlf", "User-agent: FooBot\r\nDisallow: /a\r\n", A, false),
        row("google_cr_cr_lf", "User-agent: FooBot\r\r\nDisallow: /a\r\r\n", A, false),
        row("rfc_2_2_no_end_at_the_end", "User-agent: FooBot\nDisallow: /a", A, false),
        row("rfc_2_2_blank_lines_end_nothing", "\n\nUser-agent: FooBot\n\n\nDisallow: /a", A, false),
        row("google_vt_is_no_end", "User-agent: FooBot\u{b}Disallow: /a\n", A, true),
        row("google_ff_is_no_end", "User-agent: FooBot\u{c}Disallow: /a\n", A, true),
        row("google_nel_is_no_end", "User-agent: FooBot\u{85}Disallow: /a\n", A, true),
        row("google_ls_is_no_end", "User-agent: FooBot\u{2028}Disallow: /a\n", A, true),
    ]);
}

#[test]
fn comments_nul_and_space() {
    check(&[
        row("rfc_2_2_3_comment_glued", "User-agent: FooBot#x\nDisallow: /a#b\n", "https://e.test/ab", false),
        row("rfc_2_2_3_comment_line", "User-agent: FooBot\n# Disallow: /a\n", A, true),
        row("rfc_2_2_3_escaped_hash", "User-agent: FooBot\nDisallow: /a%23b\n", "https://e.test/a%23b", false),
        row("google_comment_before_colon", "User-agent: FooBot\nDisallow# : /a\n", A, true),
        row("google_nul_ends_content", "User-agent: FooBot\0junk\nDisallow: /a\0b\n", "https://e.test/ac", false),
        row("google_nul_hides_the_colon", "User-agent: FooBot\nDisallow\0: /a\n", A, true),
        row("google_vt_and_ff_are_trimmed", "\u{b}User-agent\u{c}:\u{b}FooBot\u{c}\n\tDisallow :/a\n", A, false),
        row("google_nbsp_spoils_a_key", "User-agent: FooBot\n\u{a0}Disallow: /a\n", A, true),
        row("google_nbsp_stays_in_a_value", "User-agent: FooBot\nDisallow: /a\u{a0}\n", A, true),
        row("google_nbsp_is_escaped", "User-agent: FooBot\nDisallow: /a\u{a0}\n", "https://e.test/a%C2%A0", false),
    ]);
}

#[test]
fn missing_colon() {
    check(&[
        row("google_two_words", "User-agent FooBot\nDisallow \t /a\n", A, false),
        row("google_three_words", "User-agent: FooBot\nDisallow /a /b\n", A, true),
        row("google_user_agent_as_two_words", "user agent FooBot\nDisallow: /\n", A, true),
        row("google_one_word", "User-agent: FooBot\nDisallow\n", A, true),
        row("google_comment_off_before_counting", "User-agent FooBot # my bot\nDisallow: /a\n", A, false),
        row("google_colon_in_the_value", "User-agent: FooBot\nDisallow /a:b\n", "https://e.test/a:b", true),
        row("google_key_before_the_first_colon", "User-agent: FooBot\nDisallow /a: /a\n", A, false),
        row("google_empty_key", "User-agent: FooBot\n: /a\n", A, true),
    ]);
}

#[test]
fn keys() {
    let spelled = |name, agent_key: &str, rule_key: &str, known: bool| {
        let text = format!("{agent_key}: FooBot\n{rule_key}: /a\n");
        Row { robots: text.leak().as_bytes(), ..row(name, "", A, !known) }
    };
    let mut rows: Vec<Row> = ["user-agent", "useragent", "user agent", "USER-AGENT", "User-agents", "useragentx"]
        .map(|key| spelled(key, key, "disallow", true))
        .into();
    rows.extend(["user_agent", "agent", "user  agent", "xuser-agent"].map(|key| spelled(key, key, "disallow", false)));
    let known = ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "DisAllow", "Disallowed"];
    rows.extend(known.map(|key| spelled(key, "user-agent", key, true)));
    rows.extend(["disallow-x", "disallow all"].map(|key| spelled(key, "user-agent", key, true)));
    let unknown = ["dis-allow", "disllow", "dis allow", "noallow", "sitemap", "noindex", "<p>disallow"];
    rows.extend(unknown.map(|key| spelled(key, "user-agent", key, false)));
    check(&rows);
    check(&[
        row("google_allow_by_prefix", "User-agent: FooBot\nDisallow: /\nAllow-all: /a\n", A, true),
        row("google_alow_is_no_typo", "User-agent: FooBot\nDisallow: /\nAlow: /a\n", A, false),
        row("google_html_is_no_agent", "<p>User-agent: *<br>\nDisallow: /\n", A, true),
        row("google_bare_lines_in_html", "<html>\nUser-agent: *\nDisallow: /\n</html>\n", A, false),
    ]);
}

#[test]
fn overlong_lines() {
    let file = |tail: &str, length: usize| {
        let rule = format!("Disallow: /{}", "a".repeat(length - 11));
        assert_eq!(rule.len(), length);
        format!("User-agent: FooBot\n{rule}{tail}\nDisallow: /next\n")
    };
    let target = |count: usize| format!("https://e.test/{}", "a".repeat(count));
    let kept = comity_robots::MAX_LINE_BYTES;
    assert_eq!(kept, 16_663);
    let ask = |text: &str, url: &str| {
        shared::allowed(text.as_bytes(), "FooBot", url.as_bytes(), comity_robots::Dialect::Google)
    };
    assert!(!ask(&file("bcd", kept), &target(kept - 11)), "what is beyond the limit is dropped, the rest is used");
    assert!(ask(&file("", kept), &target(kept - 12)), "what is inside the limit is all used");
    assert!(!ask(&file("bcd", kept), "https://e.test/next"), "the next line is a line");
    assert!(ask(&file("\u{e9}", kept - 1), &target(kept - 12)), "a cut inside a character is no matter");
}
