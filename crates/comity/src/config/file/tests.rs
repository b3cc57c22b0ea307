use super::*;

#[test]
fn unknown_keys_are_refused_with_line_and_nearest_name() {
    let error = ConfigFile::parse("[politeness]\n\ndealy = \"1s\"\n", None).unwrap_err();
    assert!(error.to_string().starts_with("line 3: unknown field `dealy`"), "{error}");
    assert_eq!(error.advice(), Some("did you mean `delay`?"));
    assert!(ConfigFile::parse("[politness]\n", None).unwrap_err().advice().unwrap().contains("politeness"));
    assert!(ConfigFile::parse("[politeness]\ndelay = 5\n", None).is_err());
}

#[test]
fn later_layers_win_key_by_key() {
    let mut base = ConfigFile::parse("[agent]\nname = \"A/1\"\ncontact = \"a@b.c\"\n", None).unwrap();
    base.overlay(ConfigFile::parse("[agent]\nname = \"B/1\"\n[crawl]\nmax_pages = 5\n", None).unwrap());
    assert_eq!(base.agent.name.as_deref(), Some("B/1"));
    assert_eq!(base.agent.contact.as_deref(), Some("a@b.c"));
    assert_eq!(base.crawl.max_pages, Some(5));
}

/// A crawl that is there knows the tokens of the name that it began under: another name has its own.
#[test]
fn tokens_of_a_name_go_with_it_unless_the_next_one_bears_them() {
    let rows =
        [("B/1", "", None), ("A/2", "", Some("A")), ("NewA/1", "", Some("A")), ("B/1", "tokens = [\"B\"]", Some("B"))];
    for (name, tokens, wanted) in rows {
        let mut file = ConfigFile::parse("[agent]\nname = \"A/1\"\ntokens = [\"A\"]\n", None).unwrap();
        file.overlay(ConfigFile::parse(&format!("[agent]\nname = \"{name}\"\n{tokens}"), None).unwrap());
        assert_eq!(file.agent.tokens.as_ref().map(|tokens| tokens[0].as_str()), wanted, "{name} {tokens}");
    }
    let mut tokens = ConfigFile::parse("[agent]\ntokens = [\"A\"]\n", None).unwrap();
    tokens.overlay(ConfigFile::parse("[agent]\nname = \"B/1\"\n", None).unwrap());
    assert!(
        tokens.agent.tokens.is_some(),
        "tokens beside no name are meant for whatever name comes, and are judged with it"
    );
}

/// A token may stand anywhere in the User-Agent, in its contact, too: another version of a crawler obeys the groups that it obeyed.
#[test]
fn tokens_that_the_contact_bears_stay_with_another_name() {
    let agent = "name = \"Crawler/1.0\"\ncontact = \"https://acme.example/AcmeBot\"\ntokens = [\"AcmeBot\"]\n";
    let rows = [
        ("name = \"Crawler/1.1\"", Some(vec!["AcmeBot".to_owned()])),
        ("name = \"Other/1.1\"\ncontact = \"https://acme.example/acmebot\"", Some(vec!["AcmeBot".to_owned()])),
        ("name = \"Other/1.1\"\ncontact = \"https://other.example/bot\"", None),
        ("contact = \"https://other.example/bot\"", Some(vec!["AcmeBot".to_owned()])),
    ];
    for (later, tokens) in rows {
        let mut file = ConfigFile::parse(&format!("[agent]\n{agent}"), None).unwrap();
        file.overlay(ConfigFile::parse(&format!("[agent]\n{later}\n"), None).unwrap());
        assert_eq!(file.agent.tokens, tokens, "{later}");
    }
}
