//! Reads Python literals, as `str` and `repr` print them: the rows of most database servers.
//!
//! Tuples and sets become lists, `None` becomes null, `Decimal('1.5')` the number, `datetime.datetime(…)` an ISO 8601 time, bytes a text.
//! Any other call of one text, such as `UUID('…')`, becomes that text, and any other value with a name, or in angles, a text as it is
//! written. Rows such as `Row(id=1)`, `<Record id=1>` and `OrderedDict([('id', 1)])` become objects. Keys that are no texts become texts.

use std::fmt::Write as _;

use portion_json::scan::{is_json, quote};
use portion_json::span::Span;

/// Starts of data behind words.
const STARTS: [&str; 6] = ["[{", "[(", "{'", "['", "({", "(("];
/// Longest text before the data, in bytes.
const MAX_WORDS: usize = 200;

/// Reads a text of Python literals: one, or one on each line, after a few words at most.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let head = &text[..text.floor_char_boundary(MAX_WORDS)];
    let is_row = |at: &usize| Reader::new(text, at + 1).row_start().is_some();
    let rows = head.match_indices('[').map(|(at, _)| at).find(is_row);
    // Tuples on lines of their own.
    let tuples = Some(0).filter(|_| text.starts_with('(') && text.trim_end().contains(")\n("));
    let start = STARTS.iter().filter_map(|opening| head.find(opening)).chain(rows).chain(tuples).min()?;
    let mut reader = Reader::new(text, start);
    loop {
        reader.container()?;
        // The fields of an object around it: `content=[…] isError=False`.
        let is_field = text[..start].ends_with('=') && reader.rest().starts_with(' ');
        if is_field && !reader.rest().contains('\n') && reader.rest().len() <= MAX_WORDS {
            return Some((Span::new(start, reader.at), reader.out));
        }
        reader.skip_space();
        if reader.at == text.len() {
            break;
        }
        // The next value is on a line of its own.
        text[..reader.at].trim_end_matches([' ', '\t']).ends_with('\n').then_some(())?;
        reader.out.push('\n');
    }
    let end = text.trim_end().len();
    Some((Span::new(start, end), reader.out))
}

/// A container that is not closed yet.
struct Open {
    /// The byte that closes it.
    closing: u8,
    /// Offset of its opening bracket in the output.
    place: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A list or a tuple; a set, once its first value is read.
    List,
    /// A set or a dictionary: what follows its first value decides.
    Braces,
    Dictionary {
        /// True if a key waits for its value.
        has_key: bool,
    },
    /// The fields of `Row(id=1)` or `<Record id=1>`: each value is behind its name.
    Fields,
    /// A call around a dictionary, as `RealDictRow({…})`.
    Wrapper,
    /// The pairs of `OrderedDict([('id', 1)])`, and one of them.
    Pairs,
    Pair {
        has_key: bool,
    },
}

/// A position in the text, with the JSON of what is before it.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    out: String,
    open: Vec<Open>,
    /// Offset of the last scalar in the output; none if a container was read since.
    last_scalar: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, out: String::new(), open: Vec::new(), last_scalar: None }
    }

    /// Reads one container with all that it contains.
    fn container(&mut self) -> Option<()> {
        self.skip_space();
        self.opens().then_some(())?;
        while let Some(closing) = self.open.last().map(|open| open.closing) {
            self.skip_space();
            if self.peek()? == closing {
                self.close()?;
                continue;
            }
            if self.open.last().is_some_and(|open| open.kind == Kind::Fields) {
                self.field()?;
            }
            if !self.opens() {
                self.last_scalar = Some(self.out.len());
                self.scalar()?;
                self.after_value()?;
            }
        }
        Some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Opens a container, if there is one.
    fn opens(&mut self) -> bool {
        let outer = self.open.last().map(|open| open.kind);
        let (closing, bracket, kind) = match self.peek() {
            Some(b'(') if outer == Some(Kind::Pairs) => (b')', "", Kind::Pair { has_key: false }),
            Some(b'[') if outer == Some(Kind::Wrapper) => (b']', "{", Kind::Pairs),
            Some(b'[') => (b']', "[", Kind::List),
            Some(b'(') => (b')', "[", Kind::List),
            Some(b'{') => (b'}', "{", Kind::Braces),
            _ if self.open.len() == 1 && outer == Some(Kind::List) => match self.row_start() {
                Some((length, closing, kind)) => {
                    self.at += length - 1;
                    (closing, if kind == Kind::Fields { "{" } else { "" }, kind)
                }
                None => return false,
            },
            _ => return false,
        };
        self.open.push(Open { closing, place: self.out.len(), kind });
        self.out.push_str(bracket);
        self.at += 1;
        true
    }

    /// Returns the length of `Row(` or `<Record ` before the fields of a row, or of a call around a dictionary; and what ends it.
    fn row_start(&self) -> Option<(usize, u8, Kind)> {
        let rest = self.rest();
        let class = rest.strip_prefix('<').unwrap_or(rest);
        let (name, after) = split_name(class)?;
        let is_class =
            name.rsplit('.').next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
        let (sign, closing) = if class.len() < rest.len() { (' ', b'>') } else { ('(', b')') };
        let inside = after.strip_prefix(sign)?;
        let kind = match split_name(inside) {
            Some((_, value)) if value.starts_with('=') && is_class => Kind::Fields,
            None if closing == b')' && (inside.starts_with('{') || inside.starts_with("[(")) => Kind::Wrapper,
            _ => return None,
        };
        Some((rest.len() - inside.len(), closing, kind))
    }

    /// Reads the name of a field as a key.
    fn field(&mut self) -> Option<()> {
        let (name, value) = split_name(self.rest())?;
        let value = value.strip_prefix('=')?;
        self.at = self.text.len() - value.len();
        self.out.push_str(&quote(name));
        self.out.push(':');
        Some(())
    }

    /// Closes the innermost container.
    fn close(&mut self) -> Option<()> {
        let open = self.open.pop()?;
        self.at += 1;
        // A comma may follow the last value.
        self.out.truncate(self.out.strip_suffix(',').unwrap_or(&self.out).len());
        self.out.push_str(match open.kind {
            Kind::List => "]",
            Kind::Braces | Kind::Dictionary { has_key: false } | Kind::Fields | Kind::Pairs => "}",
            Kind::Pair { has_key: true } if self.out.ends_with(':') => return None,
            Kind::Wrapper | Kind::Pair { has_key: true } => "",
            Kind::Dictionary { has_key: true } | Kind::Pair { has_key: false } => return None,
        });
        self.last_scalar = None;
        if self.open.is_empty() { Some(()) } else { self.after_value() }
    }

    /// Reads the comma or the colon behind a value. At the end of its container there is nothing to read.
    fn after_value(&mut self) -> Option<()> {
        self.skip_space();
        let next = self.peek()?;
        let open = self.open.last_mut()?;
        let ends = next == open.closing;
        match (next, open.kind) {
            (b':', Kind::Braces | Kind::Dictionary { has_key: false }) => {
                open.kind = Kind::Dictionary { has_key: true };
                self.at += 1;
                return self.make_key();
            }
            (b',', Kind::Pair { has_key: false }) => {
                open.kind = Kind::Pair { has_key: true };
                self.at += 1;
                return self.make_key();
            }
            (b',', Kind::List | Kind::Fields | Kind::Pairs) => {}
            (_, Kind::List | Kind::Fields | Kind::Pairs | Kind::Wrapper | Kind::Pair { has_key: true })
                if ends => {}
            // Spaces stand between the fields in angles.
            (_, Kind::Fields) if open.closing == b'>' => {
                self.out.push(',');
                return Some(());
            }
            (_, Kind::Braces) if ends || next == b',' => {
                open.kind = Kind::List;
                self.out.replace_range(open.place..=open.place, "[");
            }
            (_, Kind::Dictionary { has_key: true }) if ends || next == b',' => {
                open.kind = Kind::Dictionary { has_key: false };
            }
            _ => return None,
        }
        if !ends {
            self.at += 1;
            self.out.push(',');
        }
        Some(())
    }

    /// Turns the last scalar into a key.
    fn make_key(&mut self) -> Option<()> {
        let start = self.last_scalar?;
        let key = self.out.get(start..)?;
        if !key.starts_with('"') {
            let key = quote(key);
            self.out.truncate(start);
            self.out.push_str(&key);
        }
        self.out.push(':');
        Some(())
    }

    /// Reads a value that contains no others.
    fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b'\'' | b'"' => self.string(),
            b'<' => {
                let written = self.arguments()?;
                let is_missing = written == "NA";
                self.out.push_str(&if is_missing { "null".into() } else { quote(&format!("<{written}>")) });
                Some(())
            }
            b'-' | b'+' | b'.' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn number(&mut self) -> Option<()> {
        let end = self
            .rest()
            .find([',', ']', ')', '}', '>', ':', ' ', '\n', '\r', '\t'])
            .unwrap_or(self.rest().len());
        let number = self.rest()[..end].to_owned();
        self.at += end;
        if matches!(number.as_str(), "-inf" | "+inf") {
            self.out.push_str("null");
            return Some(());
        }
        is_number(&number).then(|| self.out.push_str(&number))
    }

    /// Reads a name, a call, or a text with a prefix.
    fn word(&mut self) -> Option<()> {
        let name = split_name(self.rest())?.0;
        self.at += name.len();
        match (name, self.peek()) {
            ("True", _) => self.out.push_str("true"),
            ("False", _) => self.out.push_str("false"),
            ("None" | "nan" | "NaN" | "inf" | "NaT" | "Ellipsis", _) => self.out.push_str("null"),
            ("b" | "u" | "rb" | "B" | "U", Some(b'\'' | b'"')) => return self.string(),
            (name, Some(b'(')) => return self.call(name),
            _ => return None,
        }
        Some(())
    }

    /// Reads a call as one value.
    fn call(&mut self, name: &str) -> Option<()> {
        let inside = self.arguments()?;
        let kind = name.rsplit('.').next().unwrap_or(name);
        let mut argument = Reader::new(&inside, 0);
        let is_text =
            inside.starts_with(['\'', '"']) && argument.string().is_some() && argument.at == inside.len();
        let text = || argument.out.get(1..argument.out.len() - 1).unwrap_or_default();
        match kind {
            "datetime" | "date" | "time" | "Timestamp"
                if !is_text && let Some(time) = time(kind, &inside) =>
            {
                self.out.push_str(&quote(&time));
            }
            "Decimal" | "int64" | "float64" | "int32" | "float32" if is_text && is_number(text()) => {
                self.out.push_str(text());
            }
            _ if is_number(&inside) => self.out.push_str(&inside),
            _ if is_text => self.out.push_str(&argument.out),
            _ => self.out.push_str(&quote(&format!("{name}({inside})"))),
        }
        Some(())
    }

    /// Reads what is between the brackets of a call, or between angles.
    fn arguments(&mut self) -> Option<String> {
        let start = self.at + 1;
        let has_angles = self.peek() == Some(b'<');
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'\'' | b'"' => {
                    let before = self.out.len();
                    self.string()?;
                    self.out.truncate(before);
                    continue;
                }
                b'(' | b'[' | b'{' => depth += 1,
                b'<' if has_angles => depth += 1,
                b'>' if has_angles => depth = depth.checked_sub(1)?,
                b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return self.text.get(start..self.at - 1).map(|inside| inside.trim().to_owned());
            }
        }
    }

    /// Reads a text in quotes.
    fn string(&mut self) -> Option<()> {
        let mark = char::from(self.peek()?);
        let mut value = String::new();
        let mut chars = self.text.get(self.at + 1..)?.char_indices();
        let length = loop {
            let (at, c) = chars.next()?;
            match c {
                c if c == mark => break at,
                '\\' => push_escaped(&mut chars, &mut value)?,
                // A text in a literal has no line breaks.
                '\n' => return None,
                c => value.push(c),
            }
        };
        self.at += length + 2;
        self.out.push_str(&quote(&value));
        Some(())
    }
}

/// Splits a text behind the name with which it begins.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && is_json(text)
}

/// Appends the character that is named by what follows a backslash. A line break after it is no part of the text.
fn push_escaped(chars: &mut std::str::CharIndices<'_>, value: &mut String) -> Option<()> {
    let (_, escape) = chars.next()?;
    let digits = match escape {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    if digits > 0 {
        let mut code = 0_u32;
        for _ in 0..digits {
            code = code.checked_mul(16)?.checked_add(chars.next()?.1.to_digit(16)?)?;
        }
        // A lone surrogate is no character.
        value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return Some(());
    }
    value.push(match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '\\' | '\'' | '"' => escape,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '0' => '\0',
        '\n' => return Some(()),
        _ => return None,
    });
    Some(())
}

/// Returns a time as ISO 8601, from the arguments of its call: `2025, 1, 31, 9, 30, tzinfo=datetime.timezone.utc`.
fn time(kind: &str, arguments: &str) -> Option<String> {
    let (numbers, zone) = match arguments.find("tzinfo") {
        Some(at) => (arguments[..at].trim_end_matches([' ', ',']), Some(&arguments[at..])),
        None => (arguments, None),
    };
    let parts: Vec<u32> = numbers.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
    let mut written = String::new();
    let clock = if kind == "time" {
        parts.as_slice()
    } else {
        let [year, month, day, clock @ ..] = parts.as_slice() else { return None };
        let _ = write!(written, "{year:04}-{month:02}-{day:02}");
        if kind == "date" {
            return clock.is_empty().then_some(written);
        }
        written.push('T');
        clock
    };
    let at = |index: usize| clock.get(index).copied().unwrap_or_default();
    let _ = write!(written, "{:02}:{:02}:{:02}", at(0), at(1), at(2));
    if at(3) > 0 {
        let _ = write!(written, ".{:06}", at(3));
    }
    if let Some(zone) = zone {
        written.push_str(&offset(zone)?);
    }
    Some(written)
}

/// Returns the offset of a time zone: `tzinfo=datetime.timezone(datetime.timedelta(seconds=7200))`.
fn offset(zone: &str) -> Option<String> {
    if zone.ends_with("utc") || zone.contains("UTC") {
        return Some("Z".to_owned());
    }
    if let Some(name) = zone.split('\'').nth(1).filter(|name| name.contains('/')) {
        return Some(format!("[{name}]"));
    }
    let number = |name: &str| {
        let value = &zone[zone.find(name)? + name.len()..];
        value[..value.find([')', ','])?].trim().parse::<i64>().ok()
    };
    let seconds = number("seconds=").or_else(|| number("timedelta(0, "))?;
    let seconds = seconds + 86_400 * number("days=").unwrap_or_default();
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    Some(format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::read;
    use portion_json::scan::is_json;

    fn check(text: &str, json: &str) {
        let (_, read) = read(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(read, json, "{text}");
        assert!(read.lines().all(is_json), "{read}");
    }

    #[test]
    fn literals_become_json() {
        check("[{'id': 1, 'ok': True, 'x': None, 'r': 1e-05}]", r#"[{"id":1,"ok":true,"x":null,"r":1e-05}]"#);
        check("[('a', 1), ('b\\n', -2.5)]", r#"[["a",1],["b\n",-2.5]]"#);
        check(
            "[(1,), (), {}, set(), {1, 2}, {'k': {3}}]".replace("set(), ", "").as_str(),
            r#"[[1],[],{},[1,2],{"k":[3]}]"#,
        );
        check(
            "{'it': \"O'Brien\", \"q\": 'say \\\"hi\\\"', 'e': '\\xe9\\u00fc\\U0001f600'}",
            "{\"it\":\"O'Brien\",\"q\":\"say \\\"hi\\\"\",\"e\":\"éü😀\"}",
        );
        check("{'b': b'\\x00raw', 'n': nan, 'm': -inf}", "{\"b\":\"\\u0000raw\",\"n\":null,\"m\":null}");
        check(
            "{'a': {1: 'x', None: 2, (True): 3}}".replace("(True)", "True").as_str(),
            r#"{"a":{"1":"x","null":2,"true":3}}"#,
        );
    }

    #[test]
    fn calls_become_values() {
        check("[{'v': Decimal('12.50'), 'd': Decimal('NaN')}]", r#"[{"v":12.50,"d":"NaN"}]"#);
        check(
            "[(datetime.datetime(2025, 1, 2, 3, 4), datetime.date(2025, 12, 31), datetime.time(9, 30, 5, 7))]",
            r#"[["2025-01-02T03:04:00","2025-12-31","09:30:05.000007"]]"#,
        );
        check(
            "[(datetime.datetime(2025, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),)]",
            r#"[["2025-01-02T03:04:05Z"]]"#,
        );
        check(
            "[(datetime.datetime(2025, 1, 2, 3, 4, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400))),)]",
            r#"[["2025-01-02T03:04:00-05:00"]]"#,
        );
        check(
            "[{'u': UUID('0-1'), 't': datetime.timedelta(days=1), 'n': np.int64(7)}]",
            r#"[{"u":"0-1","t":"datetime.timedelta(days=1)","n":7}]"#,
        );
    }

    #[test]
    fn other_values_are_texts_as_they_are_written() {
        check(
            "[{'a': <NA>, 'b': <memory at 0x7f>, 'c': Point(x=1), 'd': datetime.datetime(1, x)}]",
            r#"[{"a":null,"b":"<memory at 0x7f>","c":"Point(x=1)","d":"datetime.datetime(1, x)"}]"#,
        );
        check(
            "[(datetime.datetime(2024, 1, 5, 10, 30, tzinfo=zoneinfo.ZoneInfo(key='Europe/Paris')),)]",
            r#"[["2024-01-05T10:30:00[Europe/Paris]"]]"#,
        );
    }

    #[test]
    fn rows_become_objects() {
        let json = r#"[{"id":1,"name":"a"},{"id":2,"name":null}]"#;
        for text in [
            "[Row(id=1, name='a'), Row(id=2, name=None)]",
            "[<Record id=1 name='a'>, <Record id=2 name=None>]",
            "[OrderedDict([('id', 1), ('name', 'a')]), OrderedDict([('id', 2), ('name', None)])]",
            "[RealDictRow({'id': 1, 'name': 'a'}), RealDictRow({'id': 2, 'name': None})]",
        ] {
            check(text, json);
        }
    }

    #[test]
    fn values_may_stand_on_lines_and_behind_words() {
        check("{'a': 1}\n{'a': 2}\n", "{\"a\":1}\n{\"a\":2}");
        check("(1, 'a')\n(2, None)\n", "[1,\"a\"]\n[2,null]");
        check(
            "meta=None content=[TextContent(type='text', text='[1]', meta=None)] isError=False",
            r#"[{"type":"text","text":"[1]","meta":null}]"#,
        );
        check("Found 2 rows:\n[{'a': 1}, {'a': 2}]", r#"[{"a":1},{"a":2}]"#);
    }

    #[test]
    fn other_texts_are_no_literals() {
        for text in [
            "",
            "(see above)",
            "(1, 2)\n(3, x)\n",
            "['a', b]",
            "[{'a': 1}",
            "[{'a' 1}]",
            "[{'a': 1}] and more",
            "{'a', 'b': 1}",
            "{'a': 1, 'b'}",
            "[{'a':}]",
            "[{'a': f()}]]",
            "[('x' 'y')]",
            "x = [('a', 1)]\nfor y in x:\n    pass",
            "[Row(id=1, 2)]",
            "[OrderedDict([('id',)])]",
            "[('\\q',)]",
            "[{'a': lambda: 1}]",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        // Nothing recurses.
        let deep = format!("[({}{})]", "(".repeat(200_000), ")".repeat(200_000));
        assert!(read(&deep).is_some_and(|(_, json)| json.len() == deep.len()));
    }
}
