//! JSON for tests: a tree that keeps every scalar as written, and comparisons with shortened forms.

/// A JSON value. Numbers and strings (quotes included) are as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Word(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Largest depth that is parsed: trees are parsed and dropped by recursion.
const DEEPEST: usize = 300;

impl Json {
    /// Parses a text that is one JSON value, or returns `None` if it is invalid or too deep.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        (parser.at == text.len()).then_some(value)
    }

    /// Returns the text without white space.
    pub(crate) fn minified(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &mut |_| "");
        out
    }

    /// Writes the value with the white space that `space` returns between its tokens.
    pub(crate) fn write(&self, out: &mut String, space: &mut dyn FnMut(u8) -> &'static str) {
        match self {
            Self::Word(text) | Self::Text(text) => out.push_str(text),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(space(b','));
                    item.write(out, space);
                }
                out.push_str(space(b']'));
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    out.push_str(space(b','));
                    out.push_str(key);
                    out.push_str(space(b' '));
                    out.push(':');
                    out.push_str(space(b':'));
                    value.write(out, space);
                }
                out.push_str(space(b'}'));
                out.push('}');
            }
        }
    }

    /// Returns the first member with a key (without quotes).
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.all(key).next()
    }

    /// Returns the members with a key.
    fn all(&self, key: &str) -> impl Iterator<Item = &Self> {
        let members = if let Self::Object(members) = self { &members[..] } else { &[] };
        members
            .iter()
            .filter(move |(own, _)| portion_json::scan::unescape(own) == key)
            .map(|(_, value)| value)
    }

    /// Resolves a pointer, through any of duplicate keys that leads to a value.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Self> {
        let Some(steps) = pointer.strip_prefix('/') else { return Some(self) };
        let (step, rest) = steps.find('/').map_or((steps, ""), |at| steps.split_at(at));
        if let Self::Array(items) = self {
            return items.get(step.parse::<usize>().ok()?)?.at(rest);
        }
        self.all(&step.replace("~1", "/").replace("~0", "~")).find_map(|value| value.at(rest))
    }

    /// Returns the value with the members of objects sorted by name, because their order has no meaning in
    /// JSON.
    pub(crate) fn sorted(mut self) -> Self {
        match &mut self {
            Self::Array(items) => *items = std::mem::take(items).into_iter().map(Self::sorted).collect(),
            Self::Object(members) => {
                let own = std::mem::take(members).into_iter();
                *members = own.map(|(key, value)| (key, value.sorted())).collect();
                members.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            Self::Word(_) | Self::Text(_) => {}
        }
        self
    }

    /// Returns true if this is a reduced form of `whole`: members and items may be missing and strings
    /// shortened, nothing else. A container with content must not look empty.
    pub(crate) fn is_left_of(&self, whole: &Self) -> bool {
        match (self, whole) {
            (Self::Array(left), Self::Array(all)) if left.is_empty() => all.is_empty(),
            (Self::Object(left), Self::Object(all)) if left.is_empty() => all.is_empty(),
            // A mark counts the omitted members.
            (Self::Object(left), Self::Object(all)) if matches!(&left[..], [(key, _)] if key == "\"…\"") => {
                !all.is_empty()
            }
            // The last item may be a mark that counts the strings that are left out.
            (Self::Array(left), Self::Array(all))
                if left.last().is_some_and(|last| last.left_out().is_some()) =>
            {
                let (count, kept) = (left.last().and_then(Self::left_out), &left[..left.len() - 1]);
                count.is_some_and(|count| kept.len() + count == all.len())
                    && kept.iter().zip(all).all(|(item, own)| item.is_left_of(own))
            }
            (Self::Array(left), Self::Array(all)) => {
                let mut rest = all.iter();
                left.iter().all(|item| rest.any(|own| item.is_left_of(own)))
            }
            (Self::Object(left), Self::Object(all)) => {
                let mut rest = all.iter();
                left.iter().all(|(key, item)| rest.any(|(own, value)| own == key && item.is_left_of(value)))
            }
            (Self::Text(short), Self::Text(_)) if short.contains(" … [+") => true,
            _ => self == whole,
        }
    }

    /// Returns the number of items that a mark stands for.
    fn left_out(&self) -> Option<usize> {
        let Self::Text(quoted) = self else { return None };
        quoted.strip_prefix("\"… [+")?.split_once(" items, path=")?.0.parse().ok()
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        self.space();
        match self.byte()? {
            b'"' => self.string().map(Json::Text),
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                if self.take(b']') {
                    return Some(Json::Array(items));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if self.take(b']') {
                        return Some(Json::Array(items));
                    }
                    self.take(b',').then_some(())?;
                }
            }
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                if self.take(b'}') {
                    return Some(Json::Object(members));
                }
                loop {
                    self.space();
                    let key = self.string()?;
                    self.take(b':').then_some(())?;
                    members.push((key, self.value(depth + 1)?));
                    if self.take(b'}') {
                        return Some(Json::Object(members));
                    }
                    self.take(b',').then_some(())?;
                }
            }
            _ => {
                let start = self.at;
                while self.byte().is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
                    self.at += 1;
                }
                let word = &self.text[start..self.at];
                let number = word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
                    && serde_json::from_str::<&serde_json::value::RawValue>(word).is_ok();
                (number || matches!(word, "true" | "false" | "null")).then(|| Json::Word(word.to_owned()))
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        (self.byte()? == b'"').then_some(())?;
        self.at += 1;
        loop {
            match self.byte()? {
                b'"' => break,
                b'\\' => self.at += 2,
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.text.get(start..self.at).map(str::to_owned)
    }
}
