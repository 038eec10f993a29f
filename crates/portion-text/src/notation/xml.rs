//! Reads XML that is mostly elements of one name, as records.
//!
//! An element is an object of its attributes and child elements, or a text. An element that occurs twice in one parent is an
//! array in all parents of that kind. Other XML stays text: documents with words between elements, and files of settings.

use std::collections::HashMap;

use portion_json::scan::quote;
use portion_json::span::Span;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion, escape};

/// Longest text that is read.
const MAX_BYTES: usize = 64 << 20;
/// Levels of elements. The text of an element is copied once for each.
const MAX_DEPTH: usize = 32;
/// Attributes of an element.
const MAX_ATTRIBUTES: usize = 64;
/// Share of the text that the records take, in percent.
const MIN_RECORDS_PERCENT: usize = 50;
/// Elements that HTML begins with, which has readers of its own.
const HTML_ELEMENTS: [&str; 14] = [
    "html", "body", "main", "article", "section", "div", "table", "thead", "tbody", "ul", "ol", "dl", "form",
    "svg",
];
/// Name of the text of an element that has attributes, and its name where an attribute has that one.
const TEXT: [&str; 2] = ["text", "#text"];

/// Reads a text of XML that holds records.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    if text.len() > MAX_BYTES || !text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        return None;
    }
    let document = Document::parse(text)?;
    let name = |root: &usize| document.kinds[document.elements[*root].kind].name.to_ascii_lowercase();
    if document.roots.iter().any(|root| HTML_ELEMENTS.contains(&name(root).as_str())) {
        return None;
    }
    document.holds_records(text.len()).then(|| (Span::new(0, text.trim_end().len()), document.to_json()))
}

/// The elements of a text, each after its parent.
#[derive(Default)]
struct Document<'a> {
    elements: Vec<Element<'a>>,
    /// Elements beside each other that are in no other.
    roots: Vec<usize>,
    kinds: Vec<Kind<'a>>,
    /// Index of a kind by the kind of the parents, and the name.
    kind_index: HashMap<(Option<usize>, &'a str), usize>,
}

struct Element<'a> {
    kind: usize,
    /// Attributes, without declarations of namespaces.
    attributes: Vec<(&'a str, String)>,
    text: String,
    children: Vec<usize>,
    /// Offset at which the element begins.
    start: usize,
}

/// Elements of one name in parents of one kind.
struct Kind<'a> {
    name: &'a str,
    /// Parent of the last one, or a number of no element where it has none.
    last_parent: Option<usize>,
    /// True if a parent has two of them.
    repeats: bool,
    /// True if one has attributes or children.
    has_members: bool,
    /// Bytes of all.
    bytes: usize,
}

impl<'a> Document<'a> {
    /// Parses a text. Returns `None` if it is not well-formed, declares entities, or has words between elements.
    fn parse(text: &'a str) -> Option<Self> {
        let mut reader = Reader::from_str(text);
        let mut found = Self::default();
        let mut open: Vec<usize> = Vec::new();
        loop {
            let start = reader.buffer_position() as usize;
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    open.push(found.open(text, &tag, open.last().copied(), start)?);
                    if open.len() > MAX_DEPTH {
                        return None;
                    }
                }
                Event::Empty(tag) => {
                    let element = found.open(text, &tag, open.last().copied(), start)?;
                    found.close(element, reader.buffer_position() as usize)?;
                }
                Event::End(_) => found.close(open.pop()?, reader.buffer_position() as usize)?,
                Event::Text(words) => match open.last() {
                    Some(element) => found.elements[*element].text.push_str(&words.xml10_content()),
                    None if is_blank(&words) => {}
                    None => return None,
                },
                Event::CData(words) => found.elements[*open.last()?].text.push_str(&words.xml10_content()),
                Event::GeneralRef(name) => {
                    let text = &mut found.elements[*open.last()?].text;
                    match name.resolve_char_ref().ok()? {
                        Some(c) => text.push(c),
                        None => text.push_str(escape::resolve_xml_entity(&name)?),
                    }
                }
                Event::DocType(declared) if declared.contains('[') => return None,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof => return (open.is_empty() && !found.elements.is_empty()).then_some(found),
            }
        }
    }

    /// Adds the element of a tag that begins at an offset.
    fn open(
        &mut self,
        text: &'a str,
        tag: &BytesStart<'_>,
        parent: Option<usize>,
        start: usize,
    ) -> Option<usize> {
        let name = text.get(start + 1..)?.get(..tag.name().as_ref().len())?;
        let parent_kind = parent.map(|parent| self.elements[parent].kind);
        let kind = *self.kind_index.entry((parent_kind, name)).or_insert(self.kinds.len());
        if kind == self.kinds.len() {
            self.kinds.push(Kind { name, last_parent: None, repeats: false, has_members: false, bytes: 0 });
        }
        let mut attributes = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.ok()?;
            if attributes.len() == MAX_ATTRIBUTES {
                return None;
            }
            let name = attribute.key.as_ref();
            if name != "xmlns" && !name.starts_with("xmlns:") {
                let place = tag.attributes_raw().find(name)?;
                let name = text.get(start + 1 + tag.name().as_ref().len() + place..)?.get(..name.len())?;
                let value = attribute.normalized_value(XmlVersion::Explicit1_0).ok()?;
                attributes.push((name, value.into_owned()));
            }
        }
        self.kinds[kind].has_members |= !attributes.is_empty();
        let element = self.elements.len();
        self.elements.push(Element { kind, attributes, text: String::new(), children: Vec::new(), start });
        if let Some(parent) = parent_kind {
            self.kinds[parent].has_members = true;
        }
        let parent_number = parent.unwrap_or(usize::MAX);
        let last_parent = self.kinds[kind].last_parent.replace(parent_number);
        self.kinds[kind].repeats |= last_parent == Some(parent_number);
        parent.map_or(&mut self.roots, |parent| &mut self.elements[parent].children).push(element);
        Some(element)
    }

    /// Ends an element. Returns `None` if it has words between its child elements.
    fn close(&mut self, element: usize, end: usize) -> Option<()> {
        let Element { kind, children, text, start, .. } = &self.elements[element];
        self.kinds[*kind].bytes += end - start;
        (children.is_empty() || is_blank(text)).then_some(())
    }

    /// Returns true if most of the text is elements of one kind that repeat and have members.
    fn holds_records(&self, bytes: usize) -> bool {
        self.kinds
            .iter()
            .any(|kind| kind.repeats && kind.has_members && kind.bytes * 100 >= bytes * MIN_RECORDS_PERCENT)
    }

    fn to_json(&self) -> String {
        let names = self.names();
        let mut written: Vec<String> = vec![String::new(); self.elements.len()];
        // Children are after their parents.
        for (at, element) in self.elements.iter().enumerate().rev() {
            written[at] = element.to_json(self, &names, &mut written);
        }
        let (attributes, text, children) = (Vec::new(), String::new(), self.roots.clone());
        Element { kind: 0, attributes, text, children, start: 0 }.to_json(self, &names, &mut written)
    }

    /// Returns the name of each kind, without its prefix if no other prefix has that name.
    fn names(&self) -> Vec<&'a str> {
        let local = |name: &'a str| name.split_once(':').map_or(name, |(_, local)| local);
        let mut whole_names: HashMap<&str, &str> = HashMap::new();
        let mut shared: Vec<&str> = Vec::new();
        for kind in &self.kinds {
            if *whole_names.entry(local(kind.name)).or_insert(kind.name) != kind.name {
                shared.push(local(kind.name));
            }
        }
        let short = |kind: &Kind<'a>| Some(local(kind.name)).filter(|name| !shared.contains(name));
        self.kinds.iter().map(|kind| short(kind).unwrap_or(kind.name)).collect()
    }
}

impl Element<'_> {
    /// Returns the element as JSON, of which that of its children is taken.
    fn to_json(&self, document: &Document<'_>, names: &[&str], written: &mut [String]) -> String {
        let text = self.text.trim();
        if self.attributes.is_empty() && self.children.is_empty() {
            return if text.is_empty() { "null".to_owned() } else { quote(text) };
        }
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut group_of: HashMap<usize, usize> = HashMap::new();
        for child in &self.children {
            let kind = document.elements[*child].kind;
            let group = *group_of.entry(kind).or_insert(groups.len());
            if group == groups.len() {
                groups.push((kind, Vec::new()));
            }
            groups[group].1.push(*child);
        }
        // An attribute with the name of a child gets a sign.
        let is_taken = |name: &str| groups.iter().any(|(kind, _)| names[*kind] == name);
        let mut members: Vec<String> = Vec::new();
        for (name, value) in &self.attributes {
            let name = if is_taken(name) { format!("@{name}") } else { (*name).to_owned() };
            members.push(format!("{}:{}", quote(&name), quote(value)));
        }
        for (kind, children) in &groups {
            let values: Vec<String> =
                children.iter().map(|child| std::mem::take(&mut written[*child])).collect();
            let values = values.join(",");
            let name = quote(names[*kind]);
            members.push(if document.kinds[*kind].repeats {
                format!("{name}:[{values}]")
            } else {
                format!("{name}:{values}")
            });
        }
        if !text.is_empty() {
            let is_attribute = |name: &str| self.attributes.iter().any(|(of, _)| *of == name);
            let name = TEXT[usize::from(is_attribute(TEXT[0]))];
            members.push(format!("{}:{}", quote(name), quote(text)));
        }
        format!("{{{}}}", members.join(","))
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t']).is_empty()
}

#[cfg(test)]
mod tests {
    use super::read;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(read(text).map(|(_, json)| json).as_deref(), expect, "{text}");
    }

    #[test]
    fn repeated_elements_are_records() {
        check(
            r#"<?xml version="1.0"?><l page="1"><b id="1"><n>A &amp; B</n></b><b id="2"><n/></b></l>"#,
            Some(r#"{"l":{"page":"1","b":[{"id":"1","n":"A & B"},{"id":"2","n":null}]}}"#),
        );
        // An element that repeats in one record is a list in all, and text beside attributes has a name.
        check(
            r#"<l><b><t c="EUR">5</t><k>x</k><k>y</k></b><b><t c="USD">6</t><k>z</k></b></l>"#,
            Some(
                r#"{"l":{"b":[{"t":{"c":"EUR","text":"5"},"k":["x","y"]},{"t":{"c":"USD","text":"6"},"k":["z"]}]}}"#,
            ),
        );
        // Prefixes are kept where names would be the same.
        check(
            r#"<s:l xmlns:s="u"><s:b id="1"><s:t>a</s:t><m:t>b</m:t><s:k>c</s:k></s:b><s:b id="2"/></s:l>"#,
            Some(r#"{"l":{"b":[{"id":"1","s:t":"a","m:t":"b","k":"c"},{"id":"2"}]}}"#),
        );
        check(
            "<l>\n <b n=\"1\" b=\"2\"><b>3</b></b>\n <b n=\"2\"/></l>\n",
            Some(r#"{"l":{"b":[{"n":"1","@b":"2","b":"3"},{"n":"2"}]}}"#),
        );
    }

    #[test]
    fn all_elements_beside_each_other_are_read() {
        check(
            "<status>ok</status>\n<data><row><id>1</id></row><row><id>2</id></row></data>",
            Some(r#"{"status":"ok","data":{"row":[{"id":"1"},{"id":"2"}]}}"#),
        );
        check("<row id=\"1\"/>\n<row id=\"2\"/>", Some(r#"{"row":[{"id":"1"},{"id":"2"}]}"#));
        check("<h2>Orders</h2><table><tr><td>a</td></tr><tr><td>b</td></tr></table>", None);
    }

    #[test]
    fn documents_stay_text() {
        check("<p>Some <b x=\"1\">words</b> and <b x=\"2\">more</b></p>", None);
        check("<project><name>x</name><version>1</version></project>", None);
        check("<l><b id=\"1\"/><b id=\"2\"></l>", None);
        check("<l><b id=\"1\"/><b id=\"2\"/></l> and words", None);
        check("<l><b id=\"1\">&custom;</b><b id=\"2\"/></l>", None);
        check("<!DOCTYPE l [<!ENTITY a \"b\">]><l><b id=\"1\"/><b id=\"2\"/></l>", None);
        check(&"<a>".repeat(100_000), None);
        check("<", None);
        check("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", None);
    }
}
