//! Redacts the text of XML elements: `<password>hunter2</password>`, `<property name="password">hunter2</property>`,
//! `<name>password</name><value>hunter2</value>`, `<password><value>hunter2</value></password>`.

use memchr::{memchr, memmem};

use super::code::TextFacts;
use super::pair::{PairRole, may_be_pair_secret};
use super::text_pair::names_in;
use super::value::Form;
use super::{REDACTED, RedactedNames, RedactionRules, TextEdit};

/// Maximum bytes of a tag, and maximum open elements that are remembered: the innermost ones.
const MAX_TAG_BYTES: usize = 512;
const MAX_OPEN: usize = 64;
/// Maximum bytes of the text of an element that is read as a name.
const MAX_NAME_BYTES: usize = 64;
const CDATA_START: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";
const COMMENT_START: &str = "<!--";
const COMMENT_END: &str = "-->";
/// Elements without content, which HTML does not close.
const VOID_ELEMENTS: [&str; 7] = ["br", "hr", "img", "input", "link", "meta", "wbr"];
/// Elements whose text is the value of the element around them, beside those with the names of values.
const ITEM_ELEMENTS: [&str; 16] = [
    "b", "code", "data", "element", "em", "i", "integer", "item", "kbd", "li", "pre", "samp", "string",
    "strong", "text", "tt",
];

/// Adds the edits for the elements of a text whose names are hidden. Only the text of an element that contains no other
/// element and is closed by its own end tag is a value: `Vec<Password>` has none.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    facts: &TextFacts<'_>,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    let mut sections = Vec::new();
    let mut at = 0;
    let mut walk = MarkupWalk::new(redact, facts, text, edits, names);
    while let Some(start) = memchr(b'<', &text.as_bytes()[at..]).map(|found| at + found) {
        at = walk.walk_mark(start);
        if text[start..at].starts_with(CDATA_START) {
            sections.push((start + CDATA_START.len(), at));
        }
    }
    // The elements in a section are text of the elements around it.
    for (mut at, end) in sections {
        let mut walk = MarkupWalk::new(redact, facts, &text[..end], edits, names);
        while let Some(start) = memchr(b'<', &text.as_bytes()[at..end]).map(|found| at + found) {
            at = walk.walk_mark(start).min(end);
        }
    }
}

/// An element that is open.
struct OpenElement<'t> {
    name: &'t str,
    /// Range of the attributes.
    attributes: (usize, usize),
    content_start: usize,
    has_children: bool,
    /// The hidden name whose value it is, if that was determined.
    hidden_name: Option<&'t str>,
    is_determined: bool,
    /// The hidden name among its children.
    pair_name: Option<(PairRole, &'t str)>,
    /// The last child that may be the value of a name after it.
    value_before: Option<(PairRole, (usize, usize))>,
    /// The hidden name that is the text of its last child, and the end of that child.
    label: Option<(&'t str, usize)>,
}

impl<'t> OpenElement<'t> {
    fn new(
        name: &'t str,
        attributes: (usize, usize),
        content_start: usize,
        hidden_name: Option<&'t str>,
    ) -> Self {
        let (pair_name, value_before, label) = (None, None, None);
        let (has_children, is_determined) = (false, hidden_name.is_some());
        Self {
            name,
            attributes,
            content_start,
            has_children,
            hidden_name,
            is_determined,
            pair_name,
            value_before,
            label,
        }
    }
}

struct MarkupWalk<'t, 'w> {
    redact: &'w RedactionRules,
    facts: &'w TextFacts<'w>,
    text: &'t str,
    /// The open elements, the outermost one first: the text itself, which has no name.
    open: Vec<OpenElement<'t>>,
    /// True if a comment is not closed. Then comments have no meaning.
    has_open_comment: bool,
    edits: &'w mut Vec<TextEdit>,
    names: &'w mut RedactedNames,
}

impl<'t, 'w> MarkupWalk<'t, 'w> {
    fn new(
        redact: &'w RedactionRules,
        facts: &'w TextFacts<'w>,
        text: &'t str,
        edits: &'w mut Vec<TextEdit>,
        names: &'w mut RedactedNames,
    ) -> Self {
        let open = vec![OpenElement::new("", (0, 0), 0, None)];
        Self { redact, facts, text, open, has_open_comment: false, edits, names }
    }

    /// Reads the mark that begins at `start`. Returns the offset from which on the next one is searched.
    fn walk_mark(&mut self, start: usize) -> usize {
        let rest = &self.text[start..];
        if rest.starts_with(CDATA_START) {
            return memmem::find(rest.as_bytes(), CDATA_END.as_bytes())
                .map_or(self.text.len(), |len| start + len + CDATA_END.len());
        }
        if rest.starts_with(COMMENT_START) && !self.has_open_comment {
            let len = memmem::find(rest.as_bytes(), COMMENT_END.as_bytes());
            self.has_open_comment = len.is_none();
            return start + len.map_or(1, |len| len + COMMENT_END.len());
        }
        let Some(end) = tag_end(self.text, start) else { return start + 1 };
        let inside = &self.text[start + 1..end];
        let (is_end_tag, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
        let len = inside.find(|c: char| c.is_whitespace()).unwrap_or(inside.len());
        let name = inside[..len].trim_end_matches('/');
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return start + 1;
        }
        if is_end_tag {
            self.close_element(name, start, end + 1);
        } else if inside.ends_with('/') || VOID_ELEMENTS.iter().any(|void| name.eq_ignore_ascii_case(void)) {
            if let Some(around) = self.open.last_mut() {
                around.label = None;
            }
        } else {
            let attributes = (start + 1 + len, end);
            self.open_element(name, attributes, start, end + 1);
        }
        end + 1
    }

    fn open_element(
        &mut self,
        name: &'t str,
        attributes: (usize, usize),
        start: usize,
        content_start: usize,
    ) {
        let mut hidden_name = None;
        if let Some(around) = self.open.last_mut() {
            around.has_children = true;
            let label = around.label.take().filter(|(_, end)| self.text[*end..start].trim().is_empty());
            let role = PairRole::of(local_name(name));
            let pair = around.pair_name.filter(|_| role.is_some_and(PairRole::is_value));
            hidden_name = label.map(|(label, _)| label).or(pair.map(|(_, name)| name));
        }
        if self.open.len() >= 2 * MAX_OPEN {
            self.open.drain(..MAX_OPEN);
        }
        self.open.push(OpenElement::new(name, attributes, content_start, hidden_name));
    }

    /// Closes the innermost element with this name, and those in it. Ignores an end tag without one.
    fn close_element(&mut self, name: &str, start: usize, end: usize) {
        let Some(index) = self.open.iter().rposition(|open| open.name == name) else { return };
        self.open.truncate(index + 1);
        if !self.open[index].has_children {
            self.finish_leaf(index, start, end);
        }
        self.open.pop();
    }

    /// Hides the text of an element if its name is hidden, or records it as the name or the value of a pair.
    fn finish_leaf(&mut self, index: usize, start: usize, end: usize) {
        let OpenElement { name, content_start, .. } = self.open[index];
        let range = content_range(self.text, content_start, start);
        let content = &self.text[range.0..range.1];
        let role = PairRole::of(local_name(name));
        if let Some(hidden) = self.hidden_name(index) {
            let role = role.filter(|role| role.is_value()).unwrap_or(PairRole::Content);
            if hidden == local_name(name) || may_be_pair_secret((PairRole::Name, hidden), (role, content)) {
                self.hide(range, hidden);
            }
            return;
        }
        let Some(around) = index.checked_sub(1).and_then(|around| self.open.get_mut(around)) else { return };
        if let Some(role) = role.filter(|role| role.is_value()) {
            around.value_before = Some((role, range));
            return;
        }
        let label = content.trim_end_matches(':');
        let is_label = label.len() < content.len() || matches!(name, "key" | "dt");
        let name_role = role.filter(|role| role.is_name());
        let may_be_name = (is_label || name_role.is_some()) && content.len() <= MAX_NAME_BYTES;
        if !may_be_name || !self.redact.match_pair_name(label).is_hidden() {
            return;
        }
        around.label = is_label.then_some((label, end));
        let Some(name_role) = name_role else { return };
        around.pair_name = Some((name_role, label));
        if let Some((role, range)) = around.value_before.take()
            && may_be_pair_secret((name_role, label), (role, &self.text[range.0..range.1]))
        {
            self.hide(range, label);
        }
    }

    /// Returns the hidden name of an element: its own, one in its attributes, or that of the element around it, if its text
    /// is the value of that.
    fn hidden_name(&mut self, index: usize) -> Option<&'t str> {
        let mut first = index;
        let found = loop {
            let open = &self.open[first];
            if open.is_determined {
                break open.hidden_name;
            }
            let local = local_name(open.name);
            let is_hidden = |name: &&str| self.redact.match_pair_name(name).is_hidden();
            let attributes = names_in(self.text, open.attributes).map(|(_, name)| name);
            let own = [local].into_iter().chain(attributes).find(is_hidden);
            let is_part =
                ITEM_ELEMENTS.contains(&local) || PairRole::of(local).is_some_and(PairRole::is_value);
            if own.is_some() || !is_part || first == 0 {
                break own;
            }
            first -= 1;
        };
        for open in &mut self.open[first..=index] {
            (open.hidden_name, open.is_determined) = (found, true);
        }
        found
    }

    fn hide(&mut self, (start, end): (usize, usize), name: &str) {
        let verdict = self.redact.match_pair_name(name);
        let value = &self.text[start..end];
        if verdict.hides(name, value, Form::Data)
            && (verdict.is_named || !self.facts.is_label_of_catalogue(value))
        {
            self.edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            self.names.add(name.to_owned());
        }
    }
}

/// Returns the offset of the `>` that closes the tag at `start`. A `>` in quotes does not close it.
fn tag_end(text: &str, start: usize) -> Option<usize> {
    let (mut quote, mut first) = (None, None);
    for (at, &byte) in text.as_bytes()[start + 1..].iter().take(MAX_TAG_BYTES).enumerate() {
        let at = start + 1 + at;
        match (byte, quote) {
            (b'<', _) => break,
            (b'>', None) => return Some(at),
            (b'>', Some(_)) => first = first.or(Some(at)),
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    // A quote that is not closed has no meaning.
    first
}

/// Returns the range of the text between tags, without the marks of CDATA.
fn content_range(text: &str, start: usize, end: usize) -> (usize, usize) {
    let trim = |start: usize, end: usize| {
        let content = text[start..end].trim_start();
        let start = end - content.len();
        (start, start + content.trim_end().len())
    };
    let (start, end) = trim(start, end);
    match text[start..end].strip_prefix(CDATA_START).and_then(|rest| rest.strip_suffix(CDATA_END)) {
        Some(inside) if !inside.contains(CDATA_START) => {
            trim(start + CDATA_START.len(), end - CDATA_END.len())
        }
        _ => (start, end),
    }
}

/// Returns the name of an element without its namespace.
fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}
