//! Escaping, matching, precedence (RFC 9309 §2.2.2 and §2.2.3, Google's parser).

mod shared;

use shared::{Row, check, row, split_row};

/// A rule `Disallow: pattern` for FooBot, asked for a path.
fn pattern(name: &'static str, pattern: &str, path: &str, matches: bool) -> Row {
    both(name, pattern, path, matches, matches)
}

/// The same, with an answer for each dialect.
fn both(name: &'static str, pattern: &str, path: &str, google: bool, standard: bool) -> Row {
    let robots = format!("User-agent: FooBot\nDisallow: {pattern}\n").leak();
    split_row(name, robots, format!("https://e.test{path}").leak(), !google, !standard)
}

#[test]
fn wildcards() {
    check(&[
        pattern("rfc_2_2_2_prefix", "/a", "/abc?d", true),
        pattern("rfc_2_2_2_anchored_at_the_start", "/b", "/a/b", false),
        pattern("rfc_2_2_2_case_counts", "/A", "/a", false),
        pattern("rfc_2_2_3_star_takes_slash_and_query", "/a*z", "/a/b?c/z", true),
        pattern("rfc_2_2_3_star_takes_nothing", "/a*z", "/az", true),
        pattern("rfc_2_2_3_star_in_front", "*/pdf/*", "/x/pdf/a", true),
        pattern("google_two_stars", "/**z", "/abz", true),
        pattern("google_star_at_the_end", "/a*", "/a", true),
        pattern("google_star_goes_past_an_occurrence", "/*b$", "/abab", true),
        pattern("google_pieces_do_not_overlap", "/ab*ba$", "/aba", false),
        pattern("rfc_2_2_3_dollar", "/a$", "/a", true),
        pattern("rfc_2_2_3_dollar_stops_a_longer_path", "/a$", "/ab", false),
        pattern("rfc_2_2_3_dollar_stops_a_query", "/*.pdf$", "/a.pdf?x", false),
        pattern("google_dollar_inside_is_literal", "/a$b", "/a$b", true),
        pattern("google_two_dollars", "/a$$", "/a$", true),
        pattern("google_two_dollars_are_not_one", "/a$$", "/a", false),
        pattern("google_dollar_before_star_is_literal", "/a$*", "/a$bc", true),
        pattern("google_dollar_before_star_anchors_nothing", "/a$*", "/a", false),
        pattern("google_star_dollar", "/a*$", "/abc", true),
        pattern("google_lone_dollar", "$", "/", false),
        pattern("google_lone_star", "*", "/", true),
        pattern("google_regex_characters_are_literal", "/a.c[x]+(y|z)\\", "/a.c[x]+(y|z)\\", true),
        pattern("google_dot_is_no_wildcard", "/a.c", "/abc", false),
    ]);
}

#[test]
fn patterns_that_never_match() {
    check(&[
        pattern("google_no_slash", "a", "/a", false),
        pattern("google_dot_slash", "./a", "/a", false),
        pattern("google_absolute_url", "https://e.test/a", "/a", false),
        pattern("google_query_only", "?q", "/?q", false),
        pattern("google_empty", "", "/a", false),
        row("google_they_still_close", "User-agent: X\nDisallow: a\nUser-agent: FooBot\nDisallow: /a", "/a", false),
        row("google_empty_closes_too", "User-agent: FooBot\nDisallow:\nUser-agent: X\nDisallow: /a", "/a", true),
        row("google_empty_allow_overrides_nothing", "User-agent: FooBot\nDisallow: /a\nAllow:\n", "/a", false),
        row("google_empty_disallow_allows_nothing", "User-agent: FooBot\nDisallow: /a\nDisallow:\n", "/a", false),
    ]);
}

#[test]
fn escapes() {
    check(&[
        pattern("rfc_2_2_2_raw_rule_escaped_url", "/foo/bar/ツ", "/foo/bar/%E3%83%84", true),
        pattern("rfc_2_2_2_both_escaped", "/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", true),
        both("rfc_2_2_2_raw_url", "/foo/bar/ツ", "/foo/bar/ツ", false, true),
        both("rfc_2_2_2_unreserved_in_the_rule", "/foo/bar/%62%61%7A", "/foo/bar/baz", false, true),
        both("rfc_2_2_2_unreserved_in_the_url", "/foo/bar/baz", "/foo/bar/%62%61%7A", false, true),
        both("rfc_2_2_2_tilde", "/~user", "/%7Euser", false, true),
        both("rfc_2_2_2_hidden_admin", "/admin", "/%61dmin", false, true),
        pattern("google_reserved_stay_apart", "/a?b=https://c", "/a?b=https%3A%2F%2Fc", false),
        pattern("google_same_reserved", "/a?b=https%3A%2F%2Fc", "/a?b=https%3A%2F%2Fc", true),
        pattern("google_rule_hex_is_raised", "/%c3%a9", "/%C3%A9", true),
        both("google_url_hex_is_not", "/%C3%A9", "/%c3%a9", false, true),
        pattern("google_escaped_slash", "/a/b", "/a%2Fb", false),
        pattern("google_escaped_question_mark", "/a?b", "/a%3Fb", false),
        pattern("google_escaped_star_is_literal", "/a%2Ab", "/a%2Ab", true),
        pattern("google_escaped_star_is_no_wildcard", "/a%2Ab", "/axb", false),
        pattern("google_escaped_dollar", "/a%24", "/a%24b", true),
        pattern("google_literal_dollar_in_the_url", "/a%24", "/a$", false),
        pattern("google_broken_escape", "/a%g", "/a%g", true),
        pattern("google_space_stays", "/a b", "/a%20b", false),
        pattern("google_no_unicode_forms", "/e\u{301}", "/%C3%A9", false),
        pattern("google_dot_segments_stay", "/b", "/a/../b", false),
        pattern("google_double_slash_stays", "/a/b", "/a//b", false),
    ]);
    let latin = b"User-agent: FooBot\nDisallow: /\xE9\n";
    check(&[shared::bytes_row("google_latin_1_byte", latin, "https://e.test/%E9", false)]);
}

#[test]
fn longest_wins() {
    let file = |rules: &str| -> &'static str { format!("User-agent: FooBot\n{rules}").leak() };
    let wins = |name, rules, path: &'static str, allowed| row(name, file(rules), path, allowed);
    check(&[
        wins("rfc_2_2_2_longer_allow", "Allow: /p\nDisallow: /\n", "/page", true),
        wins("rfc_2_2_2_order_is_no_matter", "Disallow: /\nAllow: /p\n", "/page", true),
        wins("rfc_2_2_2_longer_disallow", "Allow: /p\nDisallow: /page\n", "/page", false),
        wins("rfc_2_2_2_tie", "Disallow: /folder\nAllow: /folder\n", "/folder/page", true),
        wins("google_star_counts", "Allow: /page\nDisallow: /*.htm\n", "/page.htm", false),
        wins("google_stars_alone", "Allow: /abc\nDisallow: /****\n", "/abc", false),
        wins("google_star_beats_bare", "Allow: /a*\nDisallow: /a\n", "/a", true),
        wins("google_dollar_counts", "Allow: /$\nDisallow: /\n", "/", true),
        wins("google_dollar_only_there", "Allow: /$\nDisallow: /\n", "/page.htm", false),
        wins("google_escape_counts_three", "Allow: /ab\nDisallow: /é\n", "/%C3%A9", false),
        wins("google_longer_by_escape", "Disallow: /*aaaa\nAllow: /éa\n", "/%C3%A9aaaa", true),
        wins("rfc_2_2_2_no_match", "Disallow: /x\n", "/page", true),
    ]);
    check(&[split_row("rfc_2_2_2_rank_after_decoding", file("Allow: /%61\nDisallow: /a*\n"), "/a", false, false)]);
}

#[test]
fn index_html() {
    let file = |rules: &str| -> &'static str { format!("User-agent: FooBot\n{rules}").leak() };
    let asks = |name, rules, path: &'static str, allowed| row(name, file(rules), path, allowed);
    check(&[
        asks("google_directory", "Allow: /d/index.html\nDisallow: /\n", "/d/", true),
        asks("google_itself", "Allow: /d/index.html\nDisallow: /\n", "/d/index.html", true),
        asks("google_htm", "Allow: /d/index.htm\nDisallow: /\n", "/d/", true),
        asks("google_any_ending", "Allow: /d/index.htmlx\nDisallow: /\n", "/d/", true),
        asks("google_dollar_ending", "Allow: /d/index.html$\nDisallow: /\n", "/d/", true),
        asks("google_root", "Allow: /index.html\nDisallow: /\n", "/", true),
        asks("google_star", "Allow: /*/index.html\nDisallow: /\n", "/x/y/", true),
        asks("google_not_without_slash", "Allow: /d/index.html\nDisallow: /\n", "/d", false),
        asks("google_not_with_query", "Allow: /d/index.html\nDisallow: /\n", "/d/?x", false),
        asks("google_case_counts", "Allow: /d/Index.html\nDisallow: /\n", "/d/", false),
        asks("google_not_index_php", "Allow: /d/index.php\nDisallow: /\n", "/d/", false),
        asks("google_not_for_disallow", "Disallow: /d/index.html\n", "/d/", true),
        asks("google_priority_is_that_of_the_directory", "Allow: /d/index.html\nDisallow: /d/*x\n", "/d/x", false),
        asks("google_tie", "Allow: /d/index.html\nDisallow: /d/*\n", "/d/", true),
        asks("google_shorter_loses", "Allow: /d/index.html\nDisallow: /d/**\n", "/d/", false),
    ]);
}

#[test]
fn robots_txt_itself() {
    let none = "User-agent: FooBot\nDisallow: /\n";
    check(&[
        split_row("rfc_2_2_2_robots_txt", none, "https://e.test/robots.txt", false, true),
        split_row("rfc_2_2_2_robots_txt_query", none, "https://e.test/robots.txt?x=1", false, true),
        split_row("rfc_2_2_2_escaped_robots_txt", none, "https://e.test/robots%2Etxt", false, true),
        split_row("rfc_2_2_2_longer_name", none, "https://e.test/robots.txt2", false, false),
        split_row("rfc_2_2_2_case", none, "https://e.test/Robots.txt", false, false),
        split_row("rfc_2_2_2_folder", none, "https://e.test/a/robots.txt", false, false),
    ]);
}
