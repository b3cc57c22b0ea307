use super::Likeness;

/// Bytes of a page that are looked at. Our choice: what makes a page itself stands near its start.
const MOST_BYTES: usize = 32 * 1024;
/// Shingles that a text needs, of those that are counted: with fewer, one word changes too much.
const LEAST_SHINGLES: u32 = 16;
/// One shingle of so many is counted, chosen by its own hash, so that the same text gives the same ones.
const SAMPLE: u64 = 4;

/// Reads the text of an HTML page for its [`Likeness`], beside and apart from the link reader: a few instructions a byte,
/// for the first 32 KiB.
///
/// Text within `a`, `script` and `style` does not count: link lists are what all pages of a site share, and what its
/// calendars vary. Markup is read without grammar; a wrong guess makes two copies of a page wrong alike.
#[derive(Debug)]
pub struct TextSketch {
    state: State,
    /// The name of the tag under way, lower case, a closing one with its slash.
    tag: Vec<u8>,
    /// The element whose text is skipped.
    skipped: Option<&'static [u8]>,
    word: u64,
    words: [u64; 2],
    sums: [i32; 64],
    shingles: u32,
    seen: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    TagName,
    /// Behind the name.
    Tag,
}

const SKIPPED: [&[u8]; 3] = [b"a", b"script", b"style"];

/// FNV-1a (Fowler, Noll, Vo): the start and the factor.
const START: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x0100_0000_01b3;

impl Default for TextSketch {
    fn default() -> Self {
        Self {
            state: State::Text,
            tag: Vec::new(),
            skipped: None,
            word: START,
            words: [0; 2],
            sums: [0; 64],
            shingles: 0,
            seen: 0,
        }
    }
}

impl TextSketch {
    /// Takes the next bytes, content decoding done, cut anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = MOST_BYTES.saturating_sub(self.seen);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        self.seen += bytes.len();
        for byte in bytes {
            self.byte(*byte);
        }
    }

    /// The fingerprint; `None` when there is too little text to tell.
    #[must_use]
    pub fn finish(mut self) -> Option<Likeness> {
        self.end_word();
        let bits = self.sums.iter().enumerate().filter(|(_, sum)| **sum > 0);
        (self.shingles >= LEAST_SHINGLES).then(|| Likeness(bits.fold(0, |all, (bit, _)| all | 1 << bit)))
    }

    fn byte(&mut self, byte: u8) {
        match (self.state, byte) {
            (State::Text, b'<') => {
                self.end_word();
                self.tag.clear();
                self.state = State::TagName;
            }
            (State::Text, _) => self.text(byte),
            (State::TagName | State::Tag, b'>') => {
                self.end_tag();
                self.state = State::Text;
            }
            (State::TagName, _) if byte.is_ascii_whitespace() || self.tag.len() > 8 => self.state = State::Tag,
            (State::TagName, _) => self.tag.push(byte.to_ascii_lowercase()),
            (State::Tag, _) => {}
        }
    }

    fn text(&mut self, byte: u8) {
        if self.skipped.is_some() {
            return;
        }
        // Bytes beyond ASCII are letters of words, whatever the charset.
        if byte.is_ascii_alphabetic() || byte >= 0x80 {
            self.word = (self.word ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(FACTOR);
        } else {
            self.end_word();
        }
    }

    /// Numbers are no words: they are what near-duplicates differ in.
    fn end_word(&mut self) {
        let word = std::mem::replace(&mut self.word, START);
        if word == START {
            return;
        }
        let [first, second] = self.words;
        self.words = [second, word];
        if first != 0 {
            self.shingle(mix(first.rotate_left(40) ^ second.rotate_left(20) ^ word));
        }
    }

    fn shingle(&mut self, hash: u64) {
        if !hash.is_multiple_of(SAMPLE) {
            return;
        }
        self.shingles += 1;
        let hash = mix(hash);
        for (bit, sum) in self.sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { 1 } else { -1 };
        }
    }

    fn end_tag(&mut self) {
        match self.skipped {
            Some(name) if self.tag.strip_prefix(b"/") == Some(name) => self.skipped = None,
            Some(_) => {}
            None => self.skipped = SKIPPED.into_iter().find(|name| *name == self.tag),
        }
    }
}

/// Spreads every bit over all (the finaliser of MurmurHash3).
const fn mix(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
