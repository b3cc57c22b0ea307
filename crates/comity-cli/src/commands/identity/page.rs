use comity::config::CrawlConfig;
use comity::policy::{Identity, WallTime};
use comity_fetch::signature::{KeyDirectory, Signer, SigningKey};
use serde_json::json;

use super::super::print;
use super::files::Files;
use super::{html, key, now, ranges, server, to_the_second};
use crate::args::PageArgs;
use crate::exit::{Exit, Failure};

/// `comity identity page --dir D`: `D/web` is served as it is, `D/server` says with which fields.
pub(crate) fn run(args: &PageArgs) -> Result<Exit, Failure> {
    let config = super::resolve(args.config.as_ref())?;
    let (at, until) = (now(), to_the_second(now().after(args.valid.0)));
    let mut files = Files::default();
    files.add("web/index.html", html::page(&config, &reach(&config, args)?, at));
    if !config.ranges.is_empty() {
        files.add("web/ranges.json", ranges::text(&config, at));
    }
    match &config.fetch.signer {
        Some(signer) => add_directory(&mut files, signer, args, at)?,
        None if !args.also_key.is_empty() => {
            return Err(Failure::usage("--also-key needs a key beside which it stands")
                .hint("set [agent] signing_key and signature_agent"));
        }
        None => {}
    }
    let written = files.write(&args.dir, args.force)?;
    if args.json {
        let until = config.fetch.signer.as_ref().map(|_| until);
        print(&json!({"files": written, "signatures_until": until}).to_string())?;
    } else {
        let mut lines: Vec<String> = written.iter().map(|path| format!("wrote {}", path.display())).collect();
        lines.push(next_step(&config, args, &until));
        print(&lines.join("\n"))?;
    }
    Ok(Exit::Done)
}

/// Where a person answers: what was given, the contact when it is an e-mail address, or From.
///
/// # Errors
/// When all there is is a URL, which is most likely that of the page itself: it would be its own contact.
fn reach(config: &CrawlConfig, args: &PageArgs) -> Result<String, Failure> {
    let who = &config.identity;
    match &args.reach {
        // The rules of a contact hold here too; the name does not matter.
        Some(given) => Identity::new("page", given, &[], Vec::new())
            .map(|checked| checked.contact().to_owned())
            .map_err(|error| Failure::usage(format!("--reach: {error}")).hint("a@example.com, or the URL of a form")),
        None if !who.contact().contains("://") => Ok(who.contact().to_owned()),
        None => who.from().map(ToOwned::to_owned).ok_or_else(|| {
            Failure::usage(format!("{} says where this page is, but not whom to write to", who.contact()))
                .hint("give --reach E-MAIL, or set [agent] from")
        }),
    }
}

fn add_directory(files: &mut Files, signer: &Signer, args: &PageArgs, at: WallTime) -> Result<(), Failure> {
    let mut keys = vec![signer.key().clone()];
    for file in &args.also_key {
        keys.push(SigningKey::read(file).map_err(|error| key::refused(file, &error))?);
    }
    let directory = KeyDirectory::new(signer.agent(), keys);
    let (path, fields) = (signer.agent().directory_path(), directory.fields(at, args.valid.0));
    files.add(format!("web{path}"), directory.body());
    files.add("server/directory-fields.txt", server::lines(&fields));
    files.add("server/nginx.conf", server::nginx(path, &fields, &to_the_second(at.after(args.valid.0))));
    Ok(())
}

fn next_step(config: &CrawlConfig, args: &PageArgs, until: &str) -> String {
    let dir = args.dir.display();
    let contact = config.identity.contact();
    let place = if contact.starts_with("http") { contact } else { "a URL of yours" };
    let mut text = format!("next: serve {dir}/web/index.html at {place}");
    if let Some(signer) = &config.fetch.signer {
        text.push_str(&format!(
            "\nnext: serve {} with the fields of {dir}/server; they hold until {until}",
            signer.agent().directory()
        ));
    }
    text
}
