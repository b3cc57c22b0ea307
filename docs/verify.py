#!/usr/bin/env python3
"""Checks a crawl directory of comity without any of comity's code: chain, digests, gaps.

    python3 verify.py DIR [--floor SECONDS]

Needs nothing but Python 3.9; for the records either the module `zstandard`, Python 3.14, or the command `zstd`.
The formats are those of docs/reference/records.md. Exit 0 when what was looked at holds, 1 when not.
It reads robots.txt for `Crawl-delay` only; verdicts are `comity audit`'s. Ed25519 signatures are not checked.
"""

import argparse
import base64
import collections
import datetime
import hashlib
import json
import os
import subprocess
import sys
import zlib

ZERO = "0" * 64
MOST = 1 << 30  # A records file or a WARC record, inflated.
ROUNDED = 0.002  # WARC-Date and comity-head-ms are cut to milliseconds.
faults, counts = collections.Counter(), collections.Counter()
notes = []  # What was not looked at, or is of no acknowledged line: it is not said to hold.


def fault(kind, text):
    faults[kind] += 1
    if faults[kind] <= 5:
        print(f"FAULT {kind}: {text}")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def inflate_zstd(path):
    child = None
    try:
        from compression import zstd  # Python 3.14
        file = zstd.open(path)
    except ImportError:
        try:
            import zstandard
            file = zstandard.ZstdDecompressor().stream_reader(open(path, "rb"), read_across_frames=True)
        except ImportError:
            child = subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE)
            file = child.stdout
    with file:
        data = file.read(MOST + 1)
    if len(data) > MOST or (child and child.wait()):
        raise ValueError(f"broken, or more than {MOST} bytes inflated")
    return data


def record_lines(folder):
    """Every line of every records file, in the order of their numbers."""
    files = []
    for name in sorted(os.listdir(folder)):
        try:
            lines = inflate_zstd(os.path.join(folder, name)).split(b"\n")
        except Exception as error:  # Whatever a library calls a broken frame.
            fault("frame", f"{name}: {error}")
            continue
        if lines.pop() != b"":
            fault("frame", f"{name}: the last line has no end")
        if lines:
            files.append((json.loads(lines[0])["seq"], lines))
    for _, lines in sorted(files):
        yield from lines


def check_chain(directory):
    """The chain from its first line; gives links by number, the bodies that are kept, and the commitments of those that are not.

    What was erased is named by the record of an erasure. A record that named it stands amended in its tombstone."""
    links, bodies, prev, erased, tombs, named = [], [], ZERO, set(), [], set()
    for text in record_lines(os.path.join(directory, "records")):
        line, counts["lines"] = json.loads(text), counts["lines"] + 1
        seq = len(links)
        if line["seq"] != seq or line["prev"] != prev:
            fault("chain", f"line {line['seq']} where {seq} is due, or it does not follow the line before")
            break
        kept = line.get("erased", line)
        if kept is not line:
            tombs.append((kept["erasure"], seq, kept.get("commitment")))
        if "body" in kept:
            # The body is committed to as it was written: the text, not what JSON makes of it.
            body = text.partition(b',"body":')[2][: -1 if kept is line else -2]
            if sha256(bytes.fromhex(kept["salt"]) + body) != kept["commitment"]:
                fault("chain", f"line {seq} ({kept['body']['url']}): its content is not what was committed to")
            bodies.append((seq, line["commitment"], kept["body"]))
            event = kept["body"].get("erasure", {"lines": [], "amended": []})
            named.update((event["id"], n, None) for first, last in event["lines"] for n in range(first, last + 1))
            named.update((event["id"], n, commitment) for n, commitment in event["amended"])
        else:
            erased.add(line["commitment"])
        link = seq.to_bytes(8, "big") + bytes.fromhex(prev) + bytes.fromhex(line["commitment"])
        if sha256(link) != line["link"]:
            fault("chain", f"line {seq}: its link does not cover it")
        links.append(prev := line["link"])
    head = json.loads(read(os.path.join(directory, "chain")))
    if head["seq"] >= len(links) or links[head["seq"]] != head["link"]:
        fault("head", f"D/chain names line {head['seq']}; {len(links)} lines are there, or it is another")
    for tomb in set(tombs) - named:
        fault("erasure", f"line {tomb[1]} is a tombstone, and no erasure names it")
    return links, bodies, head, erased


def check_checkpoints(directory, links, head):
    path = os.path.join(directory, "checkpoints.jsonl")
    prev, sums, seen, prefixes = ZERO, {}, set(), []
    index = read(os.path.join(directory, "evidence/index.jsonl"))
    for n, text in enumerate(read(path).splitlines() if os.path.exists(path) else []):
        line, counts["checkpoints"] = json.loads(text), counts["checkpoints"] + 1
        if sha256(text.rpartition(b',"digest":')[0]) != line["digest"] or line["prev"] != prev or line["n"] != n:
            fault("checkpoint", f"checkpoint {n} was changed, or does not follow the one before")
        lines = line["lines"]
        if lines > len(links) or (lines and links[lines - 1] != line["link"]):
            fault("cut", f"checkpoint {n} names line {lines - 1}, which is not there, or another")
        # An erasure makes it shorter: what was summed before does not stand then.
        longer = [one for one in prefixes if one["bytes"] > line["evidence"]["bytes"]]
        prefixes = [line["evidence"]] if longer else prefixes + [line["evidence"]]
        sums.update((file["path"], file) for file in line["files"])
        seen.add(prev := line["digest"])
    if any(sha256(index[: one["bytes"]]) != one["sha256"] for one in prefixes):
        fault("evidence_index", "it is not what it was at a checkpoint")
    if head.get("checkpoint") not in seen | {None}:
        fault("checkpoint", "the checkpoint that D/chain names is not there")
    for name, file in sums.items():
        found = next(filter(os.path.exists, (os.path.join(directory, name + end) for end in ("", ".open"))), None)
        if not found:
            fault("missing", name)
        elif sha256(read(found)) != file["sha256"]:
            fault("file_sum", f"{name} is not what it was when it was closed")


def check_evidence(directory):
    """Copies against their names, and sightings against copies; gives the sightings of robots.txt by URL and time."""
    folder, sightings = os.path.join(directory, "evidence"), {}
    for shelf in os.listdir(folder):
        if shelf != "index.jsonl":
            for name in os.listdir(os.path.join(folder, shelf)):
                counts["copies"] += 1
                if sha256(read(os.path.join(folder, shelf, name))) != name:
                    fault("evidence", f"{name} is not what its name says")
    for text in read(os.path.join(folder, "index.jsonl")).splitlines():
        line = json.loads(text)
        if (digest := line["digest"]) and not os.path.exists(os.path.join(folder, digest[:2], digest)):
            fault("evidence", f"the copy {digest} of {line['url']} is not there")
        sightings[line["url"], line["fetched"]] = digest
    return sightings


def members(path):
    """Offset, length and content of each gzip member; zstd files are left to `comity verify`."""
    data, offset, step = memoryview(read(path)), 0, 1 << 16
    while offset < len(data):
        member, content, at = zlib.decompressobj(31), bytearray(), offset  # Checks CRC and length.
        while not member.eof and at < len(data):
            try:
                content += member.decompress(data[at : at + step], MOST + 1 - len(content))
                if len(content) > MOST:
                    raise zlib.error(f"more than {MOST} bytes inflated")
            except zlib.error as error:
                return fault("warc", f"{path}, byte {offset}: {error}")
            at = min(at + step, len(data))
        if not member.eof:
            return None if path.endswith(".open") else fault("warc", f"{path}, byte {offset}: the file ends inside")
        length = at - offset - len(member.unused_data)
        yield offset, length, bytes(content)
        offset += length


def fields(text):
    return [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in text.split("\r\n"))]


def sha1(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def check_warc(directory):
    """Every record's grammar and digests; gives the records by file and offset: heads, lengths, sums, and fields."""
    records = {}
    for name in sorted(os.listdir(os.path.join(directory, "warc"))):
        if ".warc.gz" not in name:
            if ".cdxj" not in name:
                notes.append(f"warc/{name} was not looked at")
            continue
        for offset, length, content in members(os.path.join(directory, "warc", name)):
            counts["records"] += 1
            head, _, rest = content.partition(b"\r\n\r\n")
            head = dict(fields(head.decode()))
            block = rest[: int(head["content-length"])]
            if rest[len(block) :] != b"\r\n\r\n":
                fault("warc", f"{name}, byte {offset}: block and Content-Length do not fit")
            payload = block.partition(b"\r\n\r\n")[2]
            if head["warc-block-digest"] != sha1(block):
                fault("warc_digest", f"{name}, byte {offset}: block")
            if head["warc-type"] in ("request", "response") and head["warc-payload-digest"] != sha1(payload):
                fault("warc_digest", f"{name}, byte {offset}: payload")
            own = fields(block.decode()) if head["warc-type"] in ("metadata", "warcinfo") else []
            records[name.removesuffix(".open"), offset] = (head, length, own, sha256(payload), name.endswith(".open"))
    return records


def check_places(bodies, records, erased):
    """Each line's records lie where it says, and are what it says; none is left that no line names."""
    named = set()
    for seq, commitment, body in bodies:
        places = body["warc"]
        if not places or places["file"].endswith(".zst"):
            continue
        wanted = [(part, places[part]) for part in ("response", "request") if places[part]]
        wanted.append(("metadata", {"id": body["record_id"], "offset": places["metadata_offset"], "length": None}))
        for part, place in wanted:
            key = (places["file"], place["offset"])
            named.add(key)
            head, length, own, payload, _ = records.get(key, ({}, 0, [], "", False))
            fits = head.get("warc-record-id") == f"<{place['id']}>" and place["length"] in (None, length)
            if not fits or head["warc-date"] != body["time"]["started"]:
                fault("place", f"line {seq} ({body['url']}): its {part} is not at byte {place['offset']}")
            elif part == "metadata" and ("comity-record", f"sha256:{commitment}") not in own:
                fault("content", f"line {seq} ({body['url']}): its metadata carries another commitment")
            elif head["warc-type"] == "response" and payload != body["response"]["body_digest"]:
                fault("content", f"line {seq} ({body['url']}): another body than the one that it has the sum of")
    last = {file: offset for file, offset in sorted(named)}
    for key, (head, _, own, _, is_open) in records.items():
        stands_for = dict(own).get("comity-record", "").removeprefix("sha256:")
        is_tomb = "comity-erased" in dict(own) and stands_for in erased
        if key not in named and head["warc-type"] != "warcinfo" and not is_tomb:
            tell = notes.append if is_open and key[1] > last.get(key[0], -1) else lambda text: fault("unnamed", text)
            tell(f"{key[0]}, byte {key[1]}: no line names it")


def crawl_delay(text, tokens):
    """The Crawl-delay of the groups for the first token that any group names, else of those for `*`."""
    groups, agents, in_rules = {}, [], True
    for line in text.decode("utf-8", "replace").lstrip("\ufeff").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            agents = [] if in_rules else agents
            in_rules = False
            agents.append(value.lower())
            groups.setdefault(value.lower(), [])
        elif key in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for agent in agents if key == "crawl-delay" else []:
                groups[agent].append(value)
    for token in [token.lower() for token in tokens] + ["*"]:
        if token in groups:
            values = [float(value) for value in groups[token] if value.replace(".", "", 1).isdigit()]
            return max(values, default=0.0)
    return 0.0


def check_gaps(directory, records, sightings, floor):
    """From the head of one answer to the begin of the next request to the same origin."""
    sent, tokens = [], []
    for head, _, own, _, _ in records.values():
        if head["warc-type"] == "warcinfo":
            tokens = [value for name, value in own if name == "comity-agent-token"]
        elif head["warc-type"] == "metadata" and "comity-erased" not in dict(own):
            found = dict(own)
            after = int(found.get("comity-head-ms", found.get("fetchtimems", 0))) / 1000
            at = datetime.datetime.fromisoformat(head["warc-date"].replace("Z", "+00:00")).timestamp()
            sent.append((at, at + after, head["warc-target-uri"], head["warc-date"], found))
    delays, last = {}, {}
    for at, head_at, url, date, found in sorted(sent, key=lambda one: one[:2]):
        origin = "/".join(url.split("/")[:3])
        asked = max(floor, delays.get(origin, 0.0))
        if "fetchtimems" not in found:
            continue  # Nothing was sent.
        if origin in last:
            counts["gaps"] += 1
            gap = at - last[origin]
            if asked and gap + ROUNDED < asked and " rate " not in found.get("comity-override", ""):
                fault("too_soon", f"{url} at {date}: {gap:.3f} s after the answer before it, {asked:.3f} s are asked")
        last[origin] = max(last.get(origin, 0.0), head_at)
        digest = sightings.get((url, date))
        if found.get("comity-errand") == "robots" and digest:
            text = read(os.path.join(directory, "evidence", digest[:2], digest))
            delays[found["comity-robots-for"]] = crawl_delay(text, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory")
    parser.add_argument("--floor", type=float, default=0.0, help="delay to ask for on every origin, in seconds")
    given = parser.parse_args()
    try:
        links, bodies, head, erased = check_chain(given.directory)
        check_checkpoints(given.directory, links, head)
        sightings = check_evidence(given.directory)
        records = check_warc(given.directory)
        check_places(bodies, records, erased)
        check_gaps(given.directory, records, sightings, given.floor)
    except (KeyError, ValueError, OSError) as error:
        fault("unreadable", repr(error))
    print(", ".join(f"{counts[name]} {name}" for name in ("lines", "checkpoints", "copies", "records", "gaps")))
    print("".join(f"NOTE {note}\n" for note in notes[:20]), end="")
    holds = f"what was looked at holds, and {len(notes)} notes say what was not" if notes else "everything holds"
    print(f"it does not hold: {dict(faults)}" if faults else holds)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
