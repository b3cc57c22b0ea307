use comity_archive::DossierFacts;

/// `README.txt`: what is there, and how to check it by hand.
pub(super) fn text(facts: &DossierFacts) -> String {
    let origin = facts.origin.as_str();
    let link = facts.head.map(|head| head.link.to_string()).unwrap_or_default();
    let keys: std::collections::BTreeSet<&str> =
        facts.checkpoints.iter().filter_map(|one| one.signed.as_ref()).map(|signed| signed.key.as_str()).collect();
    let keys =
        if keys.is_empty() { "none: nobody signed".to_owned() } else { keys.into_iter().collect::<Vec<_>>().join(" ") };
    format!(
        "What a crawl holds about {origin}\n\
         \n\
         index.html          to be read; opens in any browser, loads nothing\n\
         records.jsonl       one line per URL of the site, refused ones too: what was decided, on which rule, what was sent and answered\n\
         evidence/           copies of robots.txt and the like, each under the SHA-256 of its bytes; index.jsonl says when they were seen\n\
         warc/               requests and answers as they were on the wire, but for what is named last; WARC 1.1 (ISO 28500)\n\
         chain.txt           the commitment of every line of the crawl, those of other sites too, which tell nothing of their content\n\
         checkpoints.jsonl   places of the chain at some instants, signed where the crawler had a key\n\
         chain               the end of the chain when the crawl last stopped\n\
         dossier.json        size and SHA-256 of every file here\n\
         \n\
         Lines of the chain: {lines}. Its last link: {link}\n\
         Public keys (Ed25519, base64url): {keys}\n\
         \n\
         CHECK IT\n\
         \n\
         With a script that shares no code with the crawler (docs/verify_dossier.py of comity):\n\
         \n\
         \x20   python3 verify_dossier.py THIS.zip --key KEY\n\
         \n\
         By hand:\n\
         \n\
         1. Sums. `sha256sum` of each file is what dossier.json says.\n\
         2. Copies. `sha256sum evidence/*/*`: each file has the name of its sum.\n\
         3. Content. In each line of records.jsonl, the SHA-256 of the bytes of `salt` (hex) followed by the text of `body`, as it\n\
         \x20  stands between `\"body\":` and the last `}}`, is `commitment`. A line with `shown` instead left out what it names in\n\
         \x20  `withheld`: its place in the chain can be checked, its content cannot.\n\
         4. Chain. Begin with 32 zero bytes. For line n of chain.txt, counted from 0, the SHA-256 of n as 8 bytes, most significant\n\
         \x20  first, then the link before, then the commitment is the next link. Each line of records.jsonl has the `commitment`, `prev`\n\
         \x20  and `link` of its `seq`. After so many `lines` the link is that of each checkpoint; `chain` names the last.\n\
         5. Checkpoints. The SHA-256 of a line up to, and without, `,\"digest\":` is its digest, and `prev` of the next. The signature is\n\
         \x20  over the text `comity-checkpoint/1`, a line feed, and the digest in hex.\n\
         6. WARC. `gzip -t` and any WARC reader. The records of a line have the ids that it names; the SHA-256 of the body of a response\n\
         \x20  is `body_digest`; the metadata record carries the commitment of its line as `comity-record`. The request is `request.head`,\n\
         \x20  the answer has the status and the fields of `response`, and each address and date is that of the line.\n\
         \n\
         WHAT IT DOES NOT SHOW\n\
         \n\
         That every line of the site is here: of the lines that are not, only commitments are, which do not tell whose they are. That\n\
         nothing was left out before the chain was written. Whoever holds the key could have written another chain; a checkpoint that\n\
         somebody else kept tells. When and where copies were seen: index.jsonl, index.html and dossier.json are covered by no checkpoint.\n\
         Offsets in the records are those of the crawl's own files. What credentials and cookies were sent: `(withheld)` stands in their\n\
         place. The queries of URLs where a record says `query`: URL, request line, `via` and `Location` stand without them\n\
         (`dropped`), or with a sum of the whole URL in their place (`hashed`); the rule that decided was asked with the query. What was\n\
         erased before: a record of the erasure is in the crawl, and not here.\n",
        lines = facts.lines,
    )
}
