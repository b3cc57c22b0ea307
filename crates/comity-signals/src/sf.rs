//! Dictionaries of RFC 9651 §4.2.2, as far as a vocabulary of tokens needs them.
//!
//! Every type is validated, because a failure anywhere voids the whole field; only tokens are handed out.

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A bare token; parameters dropped.
    Token(&'a [u8]),
    /// Any other type, valid in itself; a member without a value is Boolean true and falls here.
    Other,
}

/// The members in the order written, repeated keys included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dictionary<'a>(Vec<(&'a [u8], Value<'a>)>);

impl<'a> Dictionary<'a> {
    /// Parses a whole field value; `None` when any part of it breaks the grammar. Linear, without recursion.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let mut input = Input(text);
        input.skip(|byte| byte == b' ');
        let mut members = Vec::new();
        while !input.0.is_empty() {
            let key = input.key()?;
            let value = if input.eat(b'=') { input.member()? } else { Value::Other };
            input.parameters()?;
            members.push((key, value));
            input.skip(is_ows);
            if input.0.is_empty() {
                break;
            }
            input.expect(b',')?;
            input.skip(is_ows);
            // A trailing comma.
            input.peek()?;
        }
        Some(Self(members))
    }

    /// The value of a key: of a repeated key the last.
    pub(crate) fn last(&self, key: &str) -> Option<Value<'a>> {
        self.0.iter().rfind(|(name, _)| *name == key.as_bytes()).map(|(_, value)| *value)
    }

    /// The keys in the order written.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().map(|(key, _)| *key)
    }
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

    fn eat(&mut self, wanted: u8) -> bool {
        self.expect(wanted).is_some()
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

    /// RFC 9651 §4.2.3.3.
    fn key(&mut self) -> Option<&'a [u8]> {
        self.peek().filter(|byte| byte.is_ascii_lowercase() || *byte == b'*')?;
        Some(self.run(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.' | b'*')
        }))
    }

    fn member(&mut self) -> Option<Value<'a>> {
        if self.eat(b'(') { self.inner_list() } else { self.bare_item() }
    }

    /// RFC 9651 §4.2.1.2, the opening parenthesis taken; lists do not nest.
    fn inner_list(&mut self) -> Option<Value<'a>> {
        loop {
            self.skip(|byte| byte == b' ');
            if self.eat(b')') {
                return Some(Value::Other);
            }
            self.bare_item()?;
            self.parameters()?;
            self.peek().filter(|byte| matches!(byte, b' ' | b')'))?;
        }
    }

    /// RFC 9651 §4.2.3.2.
    fn parameters(&mut self) -> Option<()> {
        while self.eat(b';') {
            self.skip(|byte| byte == b' ');
            self.key()?;
            if self.eat(b'=') {
                self.bare_item()?;
            }
        }
        Some(())
    }

    /// RFC 9651 §4.2.3.1.
    fn bare_item(&mut self) -> Option<Value<'a>> {
        match self.peek()? {
            byte if byte.is_ascii_alphabetic() || byte == b'*' => return Some(Value::Token(self.run(is_token_byte))),
            byte if byte == b'-' || byte.is_ascii_digit() => self.number().map(drop)?,
            b'"' => self.string()?,
            b':' => self.byte_sequence()?,
            b'?' => {
                self.next();
                self.next().filter(|byte| matches!(byte, b'0' | b'1'))?;
            }
            b'@' => {
                self.next();
                // A date is an integer number of seconds.
                self.number().filter(|number| *number == Number::Integer)?;
            }
            b'%' => self.display_string()?,
            _ => return None,
        }
        Some(Value::Other)
    }

    /// RFC 9651 §4.2.4.
    fn number(&mut self) -> Option<Number> {
        self.eat(b'-');
        let whole = self.run(|byte| byte.is_ascii_digit()).len();
        if !self.eat(b'.') {
            return (1..=15).contains(&whole).then_some(Number::Integer);
        }
        let fraction = self.run(|byte| byte.is_ascii_digit()).len();
        ((1..=12).contains(&whole) && (1..=3).contains(&fraction)).then_some(Number::Decimal)
    }

    /// RFC 9651 §4.2.5.
    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => drop(self.next().filter(|byte| matches!(byte, b'"' | b'\\'))?),
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    /// RFC 9651 §4.2.7. Padding is not checked: the RFC lets parsers be lenient there.
    fn byte_sequence(&mut self) -> Option<()> {
        self.expect(b':')?;
        self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        self.expect(b':')
    }

    /// RFC 9651 §4.2.10: percent-escapes in lower case, UTF-8 once decoded.
    fn display_string(&mut self) -> Option<()> {
        self.expect(b'%')?;
        self.expect(b'"')?;
        let mut decoded = Vec::new();
        loop {
            match self.next()? {
                b'"' => return str::from_utf8(&decoded).ok().map(drop),
                b'%' => decoded.push(16 * hex(self.next()?)? + hex(self.next()?)?),
                byte @ b' '..=b'~' => decoded.push(byte),
                _ => return None,
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Number {
    Integer,
    Decimal,
}

const fn is_ows(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// `tchar` of RFC 9110 §5.6.2, and `:` and `/`.
const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || is_token_mark(byte) || matches!(byte, b':' | b'/')
}

const fn is_token_mark(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
    )
}

/// A hex digit in lower case.
const fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_grammar_takes() {
        let rows: [(&str, &str, Option<&str>); 22] = [
            ("a=n", "a", Some("n")),
            ("  a=n , b=y\t,\tc=x  ", "b", Some("y")),
            ("a=n, a=y", "a", Some("y")),
            ("a=n, a", "a", None),
            ("a;p=n, b=y", "b", Some("y")),
            ("a=n;p;q=\"x\"; r=?1", "a", Some("n")),
            ("a=(x y;p \"z\");q, b=n", "b", Some("n")),
            ("a=(), b=n", "b", Some("n")),
            ("a=-12.345, b=n", "b", Some("n")),
            ("a=123456789012345, b=n", "b", Some("n")),
            ("a=\"q\\\"\\\\\", b=n", "b", Some("n")),
            ("a=:aGk=:, b=n", "b", Some("n")),
            ("a=?0, b=n", "b", Some("n")),
            ("a=@-12, b=n", "b", Some("n")),
            ("a=%\"f%c3%bc\", b=n", "b", Some("n")),
            ("*a.b_c-d9=n", "*a.b_c-d9", Some("n")),
            ("a=*b:c/d!", "a", Some("*b:c/d!")),
            ("a=N", "a", Some("N")),
            ("", "a", None),
            ("   ", "a", None),
            ("a=n\t", "a", Some("n")),
            ("a,b,c=n", "c", Some("n")),
        ];
        for (text, key, token) in rows {
            let dictionary = Dictionary::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text:?} is refused"));
            let found = match dictionary.last(key) {
                Some(Value::Token(token)) => Some(token),
                _ => None,
            };
            assert_eq!(found, token.map(str::as_bytes), "{key} in {text:?}");
        }
    }

    #[test]
    fn what_voids_the_whole_field() {
        let rows = [
            "A=n",
            "a = n",
            "a= n",
            "a =n",
            "a=n b=y",
            "a=n,",
            "a=n,,b=y",
            ",a=n",
            "a=n;",
            "a=n;P",
            "\ta=n",
            "a=",
            "=n",
            "9a=n",
            "a='n'",
            "a=\u{201c}n\u{201d}",
            "a=\"n",
            "a=\"\\n\"",
            "a=\"\u{fc}\"",
            "a=(x",
            "a=(x\ty)",
            "a=(x,y)",
            "a=((x))",
            "a=1234567890123456",
            "a=1.",
            "a=1.2345",
            "a=1234567890123.1",
            "a=-",
            "a=:x",
            "a=:x y:",
            "a=?2",
            "a=?",
            "a=@1.5",
            "a=@",
            "a=%\"%C3%BC\"",
            "a=%\"%ff\"",
            "a=%\"%4\"",
            "a=%x",
            "a=n\0",
            "a=n\u{a0}",
            "a;=n",
        ];
        for text in rows {
            assert_eq!(Dictionary::parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
