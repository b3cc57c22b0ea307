#!/usr/bin/env python3
"""Checks a dossier of `comity dossier` without any of comity's code: sums, chain, content, copies, WARC, signatures.

    python3 verify_dossier.py FILE.zip [--key KEY]

Needs nothing but Python 3.9; for signatures the command `openssl`. What is what: README.txt within. Exit 0 when it holds.
"""

import argparse, base64, collections, hashlib, json, os, re, subprocess, sys, tempfile, urllib.parse, zipfile, zlib

MOST = 1 << 30  # Bytes that a file or a WARC record may inflate to.
faults, notes = collections.Counter(), collections.Counter()

def fault(kind, text):
    faults.update([kind])
    print(f"FAULT {kind}: {text!r}")

sha256 = lambda data: hashlib.sha256(data).hexdigest()

def is_signed(checkpoint):
    """Whether the signature is of the key and the digest; None where that cannot be checked here."""
    parts = {"key": bytes.fromhex("302a300506032b6570032100") + base64.urlsafe_b64decode(checkpoint["key"] + "=")}  # RFC 8410
    parts |= {"text": f"comity-checkpoint/1\n{checkpoint['digest']}".encode(), "sig": base64.urlsafe_b64decode(checkpoint["signature"] + "==")}
    with tempfile.TemporaryDirectory() as folder:
        for name, data in parts.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        command = "openssl pkeyutl -verify -pubin -keyform DER -rawin -inkey key -in text -sigfile sig"
        try:
            return subprocess.run(command.split(), cwd=folder, capture_output=True).returncode == 0
        except FileNotFoundError:
            return None

def check_chain(files, wanted):
    """Makes the links again from the commitments, and holds them against each checkpoint."""
    links, prev, commitments = [], "0" * 64, [line.split(" ")[0] for line in files["chain.txt"].decode().splitlines()]
    for seq, commitment in enumerate(commitments):
        links.append(prev := sha256(seq.to_bytes(8, "big") + bytes.fromhex(prev) + bytes.fromhex(commitment)))
    places, prev, last = [("chain", json.loads(files["chain"]))], "0" * 64, {"lines": 0, "key": None}
    for n, text in enumerate(files.get("checkpoints.jsonl", b"").splitlines()):
        last = json.loads(text)
        if sha256(text.rpartition(b',"digest":')[0]) != last["digest"] or (last["prev"], last["n"]) != (prev, n):
            fault("checkpoint", f"checkpoint {n} was changed, or does not follow the one before")
        holds = is_signed(last) if last["key"] else True
        if holds is False or wanted and last["key"] != wanted:
            fault("signature", f"checkpoint {n} is not signed by {wanted or last['key']}")
        notes["signatures were not checked: the command openssl is not there"] += holds is None
        places += [(f"checkpoint {n}", {"seq": last["lines"] - 1, "link": last["link"]})] if last["lines"] else []
        prev = last["digest"]
    for name, place in places:
        if place["seq"] >= len(links) or links[place["seq"]] != place["link"]:
            fault("cut", f"{name} names line {place['seq']}, which is not there, or another")
    if last["lines"] < len(links):
        (fault if wanted else lambda _, text: notes.update([text]))("unsealed", "lines that no checkpoint covers")
    return commitments, links

def check_records(files, commitments, links):
    bodies = []
    for text in files["records.jsonl"].splitlines():
        line, (before, _, body) = json.loads(text), text.partition(b',"body":')
        if (seq := line["seq"]) >= len(links) or (line["commitment"], line["link"]) != (commitments[seq], links[seq]):
            fault("chain", f"line {seq} is not of this chain")
        if "shown" in line:
            notes["lines are shown in part, without proof of their content"] += 1
        elif sha256(bytes.fromhex(json.loads(before + b"}")["salt"]) + body[:-1]) != line["commitment"]:
            fault("content", f"line {seq} ({line['body']['url']}) is not what was committed to")
        bodies.append((seq, line["commitment"], line["shown"] if "shown" in line else line["body"]))
    return bodies

def warc_records(data):
    """Head and block of each gzip member, by record id."""
    while data:
        member = zlib.decompressobj(31)  # Checks CRC and length.
        content, data = member.decompress(data, MOST), member.unused_data
        head, _, rest = content.partition(b"\r\n\r\n")
        head = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head.decode().split("\r\n"))}
        block = rest[: int(head["content-length"])]
        digest = "sha1:" + base64.b32encode(hashlib.sha1(block).digest()).decode()
        if not member.eof or rest[len(block) :] != b"\r\n\r\n" or head["warc-block-digest"] != digest:
            fault("warc", f"{head['warc-record-id']}: its block is not what its head says")
        yield head["warc-record-id"].strip("<>"), (head, block)

def raw(text):
    """The bytes of a text from outside: base64 where it is no UTF-8."""
    return base64.b64decode(text["base64"]) if isinstance(text, dict) else text.encode()

def plain(name, value):
    """A field as both forms hold it: names that were renamed for storing are as before, blanks and controls are one space."""
    return re.sub(rb"^x-crawler-", b"", name.strip().lower()), b" ".join(re.split(rb"[\s\0]+", value)).strip()

def fields_of(head, length):
    """The fields of a stored head, without those that only its storing brought in."""
    found, renamed = [], False
    for line in re.sub(rb"\r?\n(?=[ \t])", b" ", head).splitlines()[1:]:
        name, _, value = line.partition(b":")
        field, was_renamed = plain(name, value), renamed
        renamed = name.lower().startswith(b"x-crawler-")
        if field[0] not in (b"", b"line") and not (was_renamed and field == (b"content-length", str(length).encode())):
            found += [field] if re.fullmatch(rb"[!-~]+", field[0]) else []
    return found

def wrong_answer(head, text, said):
    """How an answer in the WARC is not the one in the line: kind, status, fields, and which capture it repeats."""
    earlier = said and said.get("repeats")
    if not said or (head["warc-type"] == "revisit") != bool(earlier):
        return "kind"
    refers = (head.get("warc-refers-to"), head.get("warc-refers-to-date"))
    if earlier and refers != (earlier["record"] and f"<{earlier['record']}>", earlier["date"]):
        return "earlier capture"
    found = fields_of(text, said["body_length"])
    secret = lambda field: (field[0], b"") if field[0] in (b"set-cookie", b"set-cookie2") else field
    stated = [plain(name.encode(), raw(value)) for name, value in said["fields"]]
    stated = [field for field in stated if field[0] and not field[0].startswith(b":")]
    if text[9:12] != str(said["status"]).encode() or sorted(map(secret, found)) != sorted(map(secret, stated)):
        return "status or fields"

def is_target(head, body):
    """Whether the address is the line's; what RFC 3986 forbids is escaped in it, and lines cut long ones."""
    if len(body["url"].encode()) != body["url_length"]:
        return True
    origin, path = re.match(r"([^:]*://[^/?#]*)(.*)", body["url"], re.S).groups()
    path = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", path)
    return head.get("warc-target-uri") == origin + urllib.parse.quote(path, safe="-._~!$&'()*+,;=:@/?%")

def differs(name, head, block, body):
    """What a record says otherwise than the line that names it."""
    if head["warc-type"] == "metadata" and name == "response" and "comity-erasure: " in block.decode():
        notes["WARC records were erased"] += 1
    elif head["warc-type"] not in ((name, "revisit") if name == "response" else (name,)):
        return "type"
    elif head["warc-date"] != body["time"]["started"] or not is_target(head, body):
        return "date or address"
    elif head.get("warc-ip-address") != body["vantage"]["server_ip"]:
        return "server"
    elif name == "request":
        return None if body["request"] and block == raw(body["request"]["head"]) else "request"
    else:
        text, _, payload = block.partition(b"\r\n\r\n")
        is_other = head["warc-type"] == "response" and sha256(payload) != body["response"]["body_digest"]
        return "body" if is_other else wrong_answer(head, text, body["response"])

def check_warc(files, bodies):
    """Each line's records are what it says, and no others are there; a file in zstd form is left to readers of that."""
    members = list(warc_records(files.get("warc/dossier.warc.gz", b"")))
    records, named = dict(members), set()
    for seq, commitment, body in bodies:
        for name in ("response", "request"):
            part = (body["warc"] or {}).get(name)
            head, block = records.get(part["id"], ({}, b"")) if part else ({}, b"")
            notes["WARC records are not here"] += bool(part) and not head
            named.add(part and part["id"])
            wrong = head and differs(name, head, block, body)
            if wrong:
                fault("body", f"line {seq}: another {name} than the one that it names ({wrong})")
        named.add(body["record_id"])
        _, block = records.get(body["record_id"], ({}, b""))
        if block and f"comity-record: sha256:{commitment}\r\n".encode() not in block:
            fault("metadata", f"line {seq}: its metadata record is of another line")
    for at, (name, (head, _)) in enumerate(members):
        if name not in named and (at or head["warc-type"] != "warcinfo") or sum(name == other for other, _ in members) > 1:
            fault("unnamed", f"{name}: a WARC record that no line names, or one of several of that id")

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file")
parser.add_argument("--key", help="the public key that must have signed every checkpoint")
given = parser.parse_args()
try:
    with zipfile.ZipFile(given.file) as archive:
        files = {one.filename: archive.read(one) for one in archive.infolist() if one.file_size <= MOST}
    sums = {one["path"]: one["sha256"] for one in json.loads(files["dossier.json"])["files"]}
    sums["dossier.json"] = sha256(files["dossier.json"])
    for name in sorted(sums.keys() | files.keys()):
        if name not in files or sums.get(name) != sha256(files[name]):
            fault("sum", f"{name} is not what dossier.json says")
        elif name.startswith("evidence/") and name != "evidence/index.jsonl" and sums[name] != name.rpartition("/")[2]:
            fault("evidence", f"{name} is not what its name says")
    commitments, links = check_chain(files, given.key)
    bodies = check_records(files, commitments, links)
    rests = [body[what] for _, _, body in bodies for what in ("robots", "tdmrep", "ai_txt", "trust_txt") if body.get(what)]
    rests += [one for _, _, body in bodies for one in body.get("licences", [])]
    seen = [json.loads(line) for line in files.get("evidence/index.jsonl", b"").splitlines()]
    digests = {one.get("digest") for one in rests} - {None}
    for digest in digests:
        notes["copies are not here"] += f"evidence/{digest[:2]}/{digest}" not in files
    known = {f"evidence/{digest[:2]}/{digest}" for digest in digests | {one.get("digest") or "" for one in seen}}
    for name in files:
        if name.startswith("evidence/") and name != "evidence/index.jsonl" and name not in known:
            fault("unnamed", f"{name}: a copy that no line and no sighting names")
    check_warc(files, bodies)
except (KeyError, ValueError, TypeError, OSError, zipfile.BadZipFile, zlib.error) as error:
    fault("unreadable", repr(error))
print("".join(f"NOTE {count} {note}\n" for note, count in notes.items() if count), end="")
print(f"it does not hold: {dict(faults)}" if faults else f"what is there holds: {len(bodies)} of {len(links)} lines")
sys.exit(1 if faults else 0)
