//! Lists of items with parameters (RFC 9651 §4.2.1), as far as rate-limit fields need them: inner lists are refused.

/// A member of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) value: Value<'a>,
    parameters: Vec<(&'a [u8], Value<'a>)>,
}

/// A bare item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// At most 15 digits (RFC 9651 §3.3.1).
    Integer(i64),
    /// Escapes undone.
    String(Vec<u8>),
    Token(&'a [u8]),
    /// Decimal, date, boolean, byte sequence or display string, as written.
    Other(&'a [u8]),
}

/// Items of a list that are read; more make it unreadable.
const MOST_ITEMS: usize = 64;
const MOST_PARAMETERS: usize = 32;

impl<'a> Item<'a> {
    /// A parameter: of a repeated key the last.
    pub(crate) fn parameter(&self, key: &str) -> Option<&Value<'a>> {
        self.parameters.iter().rfind(|(name, _)| *name == key.as_bytes()).map(|(_, value)| value)
    }

    /// A parameter that is an integer.
    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        match self.parameter(key)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

/// Parses a whole field value; `None` when any part of it breaks the grammar. Linear, without recursion.
pub(crate) fn parse_list(text: &[u8]) -> Option<Vec<Item<'_>>> {
    let mut input = Input(text);
    input.skip(|byte| byte == b' ');
    let mut items = Vec::new();
    while !input.0.is_empty() {
        let value = input.bare_item()?;
        let parameters = input.parameters()?;
        items.push(Item { value, parameters });
        input.skip(is_ows);
        if input.0.is_empty() {
            break;
        }
        input.expect(b',')?;
        input.skip(is_ows);
        // A trailing comma, or more than anybody needs.
        input.peek().filter(|_| items.len() < MOST_ITEMS)?;
    }
    Some(items)
}

const fn is_ows(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What is left to read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[wanted])?;
        Some(())
    }

    /// Takes the longest run of bytes that `keep` accepts.
    fn run(&mut self, keep: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|byte| !keep(*byte)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at(end);
        self.0 = rest;
        run
    }

    fn skip(&mut self, drop: impl Fn(u8) -> bool) {
        self.run(drop);
    }

    /// RFC 9651 §4.2.3.2.
    fn parameters(&mut self) -> Option<Vec<(&'a [u8], Value<'a>)>> {
        let mut found = Vec::new();
        while self.expect(b';').is_some() {
            self.skip(|byte| byte == b' ');
            let key = self.key()?;
            let value = if self.expect(b'=').is_some() { self.bare_item()? } else { Value::Other(b"?1") };
            found.push((key, value));
            if found.len() > MOST_PARAMETERS {
                return None;
            }
        }
        Some(found)
    }

    /// RFC 9651 §4.2.3.3.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.peek().filter(|byte| byte.is_ascii_lowercase() || *byte == b'*')?;
        Some(self.run(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.' | b'*')
        }))
    }

    /// RFC 9651 §4.2.3.1.
    fn bare_item(&mut self) -> Option<Value<'a>> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => Some(Value::Token(self.run(is_token))),
            b':' => self.enclosed(b":", |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')),
            b'?' => self.boolean(),
            b'@' => self.date(),
            b'%' => self.enclosed(b"%\"", |byte| byte != b'"' && (b' '..=b'~').contains(&byte)),
            _ => None,
        }
    }

    /// RFC 9651 §4.2.4.
    fn number(&mut self) -> Option<Value<'a>> {
        let start = self.0;
        let minus = self.expect(b'-').is_some();
        let whole = self.run(|byte| byte.is_ascii_digit());
        if self.expect(b'.').is_some() {
            let fraction = self.run(|byte| byte.is_ascii_digit());
            let fits = (1..=12).contains(&whole.len()) && (1..=3).contains(&fraction.len());
            return fits.then(|| Value::Other(taken(start, self.0)));
        }
        if !(1..=15).contains(&whole.len()) {
            return None;
        }
        let number = whole.iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Some(Value::Integer(if minus { -number } else { number }))
    }

    /// RFC 9651 §4.2.5.
    fn string(&mut self) -> Option<Value<'a>> {
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Some(Value::String(text)),
                b'\\' => text.push(self.next().filter(|byte| matches!(byte, b'"' | b'\\'))?),
                byte @ b' '..=b'~' => text.push(byte),
                _ => return None,
            }
        }
    }

    /// RFC 9651 §4.2.8.
    fn boolean(&mut self) -> Option<Value<'a>> {
        let start = self.0;
        self.expect(b'?')?;
        self.next().filter(|byte| matches!(byte, b'0' | b'1'))?;
        Some(Value::Other(taken(start, self.0)))
    }

    /// RFC 9651 §4.2.9.
    fn date(&mut self) -> Option<Value<'a>> {
        let start = self.0;
        self.expect(b'@')?;
        match self.number()? {
            Value::Integer(_) => Some(Value::Other(taken(start, self.0))),
            _ => None,
        }
    }

    /// A byte sequence or display string (RFC 9651 §4.2.7, §4.2.10), its content taken as it stands.
    fn enclosed(&mut self, open: &[u8], keep: impl Fn(u8) -> bool) -> Option<Value<'a>> {
        let start = self.0;
        self.0 = self.0.strip_prefix(open)?;
        self.skip(keep);
        self.expect(*open.last()?)?;
        Some(Value::Other(taken(start, self.0)))
    }
}

/// What was read between two places of one text.
fn taken<'a>(start: &'a [u8], rest: &[u8]) -> &'a [u8] {
    start.get(..start.len() - rest.len()).unwrap_or(start)
}

/// RFC 9651 §4.2.6.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
                | b':'
                | b'/'
        )
}
