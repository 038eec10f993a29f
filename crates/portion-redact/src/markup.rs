//! Redacts the text of XML elements: `<password>hunter2</password>`, `<property name="password">hunter2</property>`,
//! `<name>password</name><value>hunter2</value>`, `<password><value>hunter2</value></password>`.

use std::ops::Range;

use portion_text::html::{HtmlTag, HtmlTags};

use super::code::TextFacts;
use super::pair::{PairRole, may_be_pair_secret};
use super::text_pair::names_in;
use super::value::Form;
use super::{Findings, RedactionRules};

/// Maximum open elements that are remembered: the innermost ones.
const MAX_OPEN: usize = 64;
/// Maximum bytes of the text of an element that is read as a name.
const MAX_NAME_BYTES: usize = 64;
const COMMENT_START: &str = "<!--";
const COMMENT_END: &str = "-->";
/// Elements without content, which HTML does not close.
const VOID_ELEMENTS: [&str; 7] = ["br", "hr", "img", "input", "link", "meta", "wbr"];
/// Elements whose text is the value of the element around them, beside those with the names of values.
const ITEM_ELEMENTS: [&str; 16] = [
    "b", "code", "data", "element", "em", "i", "integer", "item", "kbd", "li", "pre", "samp", "string",
    "strong", "text", "tt",
];

/// Hides the text of the elements whose names are hidden. Only the text of an element that contains no other element and is
/// closed by its own end tag is a value: `Vec<Password>` has none.
pub(super) fn redact(rules: &RedactionRules, facts: &TextFacts<'_>, text: &str, found: &mut Findings) {
    // The outermost element is the text itself, which has no name.
    let open = vec![OpenElement::default()];
    let mut walk = MarkupWalk { rules, facts, text, open, found };
    // A comment that is not closed has no meaning.
    let closed = text.rfind(COMMENT_END).unwrap_or_default();
    let mut start = 0;
    let unclosed = text[closed..].match_indices(COMMENT_START).map(|(at, _)| closed + at);
    for end in unclosed.chain([text.len()]) {
        HtmlTags::new(text, start..end).for_each(|tag| walk.walk_tag(&tag));
        start = end + COMMENT_START.len();
    }
}

/// An element that is open.
#[derive(Clone, Default)]
struct OpenElement<'t> {
    name: &'t str,
    content_start: usize,
    has_children: bool,
    /// The hidden name whose value it is.
    hidden_name: Option<&'t str>,
    /// The hidden name among its children.
    pair_name: Option<(PairRole, &'t str)>,
    /// The last child that may be the value of a name after it.
    value_before: Option<(PairRole, Range<usize>)>,
}

struct MarkupWalk<'t, 'w> {
    rules: &'w RedactionRules,
    facts: &'w TextFacts<'w>,
    text: &'t str,
    /// The open elements, the outermost one first.
    open: Vec<OpenElement<'t>>,
    found: &'w mut Findings,
}

impl<'t> MarkupWalk<'t, '_> {
    fn walk_tag(&mut self, tag: &HtmlTag<'t>) {
        let is_void = || VOID_ELEMENTS.iter().any(|void| tag.name.eq_ignore_ascii_case(void));
        if tag.is_closing {
            self.close_element(tag.name, tag.start);
        } else if !tag.content.ends_with('/') && !is_void() {
            self.open_element(tag.name, &tag.content[tag.name.len()..], tag.end);
        }
    }

    fn open_element(&mut self, name: &'t str, attributes: &'t str, content_start: usize) {
        let hidden_name = self.hidden_name(name, attributes);
        if let Some(around) = self.open.last_mut() {
            around.has_children = true;
        }
        if self.open.len() >= 2 * MAX_OPEN {
            self.open.drain(..MAX_OPEN);
        }
        self.open.push(OpenElement { name, content_start, hidden_name, ..OpenElement::default() });
    }

    /// Returns the hidden name of an element: its own, one in its attributes, or that of the element around it or of the name beside it,
    /// if its text is the value of that.
    fn hidden_name(&self, name: &'t str, attributes: &'t str) -> Option<&'t str> {
        let local = local_name(name);
        let is_hidden = |name: &&str| self.rules.match_pair_name(name).is_hidden();
        let names = names_in(attributes).map(|(_, name)| name);
        let around = || self.open.iter().rev().map(|open| local_name(open.name).to_owned());
        let is_value = role_of(name).is_some_and(PairRole::is_value);
        let outer = self.open.last()?;
        let beside = outer.pair_name.filter(|_| is_value || matches!(name, "dd" | "string"));
        beside
            .map(|(_, name)| name)
            .or_else(|| [local].into_iter().chain(names).find(is_hidden))
            .or_else(|| self.rules.matches_path_within(local, around).then_some(local))
            .or_else(|| outer.hidden_name.filter(|_| is_value || ITEM_ELEMENTS.contains(&local)))
    }

    /// Closes the innermost element with this name, and those in it. Ignores an end tag without one.
    fn close_element(&mut self, name: &str, start: usize) {
        let Some(index) = self.open.iter().rposition(|open| open.name == name) else { return };
        self.open.truncate(index + 1);
        if !self.open[index].has_children {
            self.finish_leaf(index, start);
        }
        self.open.pop();
    }

    /// Hides the text of an element if its name is hidden, or records it as the name or the value of a pair.
    fn finish_leaf(&mut self, index: usize, end: usize) {
        let OpenElement { name, content_start, hidden_name, .. } = self.open[index];
        let content = self.text[content_start..end].trim_start();
        let start = end - content.len();
        let content = content.trim_end();
        let range = start..start + content.len();
        let role = role_of(name);
        if let Some(hidden) = hidden_name {
            let role = role.filter(|role| role.is_value()).unwrap_or(PairRole::Content);
            if hidden == local_name(name) || may_be_pair_secret((PairRole::Name, hidden), (role, content)) {
                self.hide(range, hidden);
            }
            return;
        }
        let Some((around, role)) =
            index.checked_sub(1).and_then(|around| self.open.get_mut(around)).zip(role)
        else {
            return;
        };
        if role.is_value() {
            around.value_before = Some((role, range));
            return;
        }
        let is_hidden = content.len() <= MAX_NAME_BYTES && self.rules.match_pair_name(content).is_hidden();
        if is_hidden || role == PairRole::Name {
            around.pair_name = is_hidden.then_some((role, content));
        }
        if is_hidden
            && let Some((value_role, range)) = around.value_before.take()
            && may_be_pair_secret((role, content), (value_role, &self.text[range.clone()]))
        {
            self.hide(range, content);
        }
    }

    fn hide(&mut self, range: Range<usize>, name: &str) {
        let mut verdict = self.rules.match_pair_name(name);
        // A path of the operator.
        verdict.is_named |= !verdict.is_hidden();
        let value = &self.text[range.clone()];
        if verdict.hides(name, value, Form::Data)
            && (verdict.is_named || !self.facts.is_label_of_catalogue(value))
        {
            self.found.hide(name, range);
        }
    }
}

/// Returns the role of an element in a pair.
fn role_of(name: &str) -> Option<PairRole> {
    if name == "dt" { Some(PairRole::Name) } else { PairRole::of(local_name(name)) }
}

/// Returns the name of an element without its namespace.
fn local_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}
