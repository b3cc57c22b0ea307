//! Links that a page has by option alone: forms that are sent with GET, URLs in running text.

use comity_extract::PageOptions;

use super::{check_option, links_of, page_with};

#[test]
fn forms_that_are_sent_with_get() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("no method", "<form action=/s>", &["form http://h.test/s"]),
        ("get", "<FORM METHOD=GeT action='s?a=1'><input name=q value=v>", &["form http://h.test/a/b/s?a=1"]),
        (
            "unknown methods are get",
            "<form method=put action=/s></form><form method action=/t>",
            &["form http://h.test/s", "form http://h.test/t"],
        ),
        ("post", "<form method=POST action=/s>", &[]),
        ("dialog", "<form method=dialog action=/s>", &[]),
        ("no action", "<form><input type=submit>", &[]),
        ("an empty action", "<form action=''><form action=' '>", &[]),
        ("another scheme", "<form action='mailto:a@h.test'></form>", &[]),
        ("the base counts", "<base href=/f/><form action=s>", &["form http://h.test/f/s"]),
        (
            "rel",
            "<form rel=nofollow action=/s><button formaction=/t>",
            &["form http://h.test/s (nofollow)", "form http://h.test/t (nofollow)"],
        ),
        (
            "a form within a form is none",
            "<form action=/s><form action=/t></form><form action=/u>",
            &["form http://h.test/s", "form http://h.test/u"],
        ),
        ("noscript", "<noscript><form action=/s></noscript>", &["form http://h.test/s"]),
        ("template", "<template><form action=/s></template><form action=/t>", &["form http://h.test/t"]),
        (
            "a template closes no form",
            "<form action=/s><template></form></template><form action=/t>",
            &["form http://h.test/s"],
        ),
        ("svg", "<svg><form action=/s></svg>", &[]),
        (
            "buttons",
            "<form><button formaction=/1></button><input type=Submit formaction=/2><input type=image formaction=/3>",
            &["form http://h.test/1", "form http://h.test/2", "form http://h.test/3"],
        ),
        (
            "what sends nothing",
            "<form><button type=reset formaction=/1></button><button type=button formaction=/2></button><input formaction=/3><input type=text formaction=/4>",
            &[],
        ),
        ("an unknown type of button sends", "<form><button type=x formaction=/1>", &["form http://h.test/1"]),
        ("a button without a form", "<button formaction=/1></button><form></form><button formaction=/2>", &[]),
        ("a button that posts", "<form><button formmethod=post formaction=/1>", &[]),
        ("a button of a form that posts", "<form method=post action=/s><button formaction=/1>", &[]),
        ("a button that gets", "<form method=post><button formmethod=get formaction=/1>", &["form http://h.test/1"]),
        (
            "a button that gets the action",
            "<form method=post action=/s><button formmethod=get></button><button formmethod=get>",
            &["form http://h.test/s"],
        ),
        ("an empty formaction", "<form method=post action=/s><button formmethod=get formaction=''>", &[]),
        (
            "a form elsewhere",
            "<button form=f formaction=/1></button><form><button form=f formmethod=get formaction=/2>",
            &["form http://h.test/2"],
        ),
    ];
    check_option(PageOptions::default().with_forms(true), rows);
}

#[test]
fn urls_in_running_text() {
    let rows: &[(&str, &str, &[&str])] = &[
        (
            "two",
            "see http://x.test/a and HTTPS://x.test/b?c=d#e",
            &["text http://x.test/a", "text https://x.test/b?c=d"],
        ),
        (
            "punctuation",
            "http://x.test/a., http://x.test/b; http://x.test/c!? (http://x.test/d) [http://x.test/e], 'http://x.test/f'",
            &[
                "text http://x.test/a",
                "text http://x.test/b",
                "text http://x.test/c",
                "text http://x.test/d",
                "text http://x.test/e",
                "text http://x.test/f",
            ],
        ),
        (
            "quotes",
            "\"http://x.test/a\" «http://x.test/b» “http://x.test/c” {http://x.test/d}",
            &["text http://x.test/a", "text http://x.test/b", "text http://x.test/c", "text http://x.test/d"],
        ),
        (
            "balanced",
            "(http://x.test/a_(b)), http://x.test/(c).",
            &["text http://x.test/a_(b)", "text http://x.test/(c)"],
        ),
        ("markdown", "[a](http://x.test/a)", &["text http://x.test/a"]),
        ("no blanks", "見http://x.test/a。次", &["text http://x.test/a"]),
        ("references", "http://x.test/?a=1&amp;b=2", &["text http://x.test/?a=1&b=2"]),
        (
            "references that end it",
            "&lt;http://x.test/a&gt;&lt;http://x.test/b&gt;&nbsp;http://x.test/c&nbsp;d",
            &["text http://x.test/a", "text http://x.test/b", "text http://x.test/c"],
        ),
        ("decoded once", "http://x.test/?a&amp;lt;b", &["text http://x.test/?a&lt;b"]),
    ];
    check_option(PageOptions::default().with_text_urls(true), rows);
}

#[test]
fn where_running_text_is() {
    let rows: &[(&str, &str, &[&str])] = &[
        (
            "markup splits",
            "http://x.test/a<b>b</b> http://x.test/<!-- -->c ht<i>tp://x.test/d</i> http://x.test/e</p>f",
            &["text http://x.test/a", "text http://x.test/", "text http://x.test/e"],
        ),
        ("a stray less-than", "http://x.test/a<1", &["text http://x.test/a"]),
        ("cut short", "http://x.test/lo… http://x.test/lo... http://x.te…/end", &[]),
        ("no host", "http:// https://, http://{host}/ http://…", &[]),
        (
            "no URLs",
            "x.test www.x.test //x.test/ http:/x.test http:x ftp://x.test/ xhttp://x.test git+https://x.test/",
            &[],
        ),
        ("a list without blanks", "1.http://x.test/a", &["text http://x.test/a"]),
        ("the base does not count", "<base href=//y.test/>http://x.test/a", &["text http://x.test/a"]),
        (
            "script, style, comment, template",
            "<script>'http://x.test/1'</script><style>/* http://x.test/2 */</style><!-- http://x.test/3 --><template>http://x.test/4</template><? http://x.test/5 >",
            &[],
        ),
        (
            "svg",
            "<svg><style>http://x.test/1 </style><script>http://x.test/2 </script><text>http://x.test/3</text></svg>",
            &["text http://x.test/3"],
        ),
        (
            "no running text",
            "<title>http://x.test/1</title><textarea>http://x.test/2</textarea><p title='http://x.test/3'>",
            &[],
        ),
        ("noscript", "<noscript>http://x.test/a</noscript>", &["text http://x.test/a"]),
        ("a frameset shows none", "<frameset>http://x.test/a</frameset>", &[]),
    ];
    check_option(PageOptions::default().with_text_urls(true), rows);
    let long = format!("http://x.test/{} http://x.test/a", "b".repeat(9000));
    let page = page_with(&long, PageOptions::default().with_text_urls(true));
    assert_eq!((links_of(&page), page.notes.too_long), (vec!["text http://x.test/a".to_owned()], 1));
}
