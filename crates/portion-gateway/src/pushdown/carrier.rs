//! Finds the list in the parts of a result, and makes payloads of stored snapshots. The same list may be in a text, in `structuredContent`, and in a string of it.

use std::sync::Arc;

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Part, PartBody, STRUCTURED_CONTENT, Snapshot, Structure};
use portion_json::path::escape_step;
use portion_json::scan::{JsonKind, JsonReader, is_equivalent_json, quote, unescape};
use portion_json::span::Span;
use portion_policy::pushdown::Pushdown;

use super::list_page::{ListPage, members};

/// The place of the list in a part of the first page.
#[derive(Debug)]
pub(super) struct Carrier {
    /// Index of the block.
    pub(super) block: usize,
    /// Text around the items, brackets included.
    before: String,
    after: String,
    /// Text around the string that contains the JSON, if it is in a string.
    around_string: Option<(String, String)>,
}

/// A page in a part of a result.
#[derive(Debug)]
pub(super) struct FoundPage {
    /// Index of the block.
    block: usize,
    is_structured: bool,
    /// Text of the page.
    pub(super) text: String,
    pub(super) page: ListPage,
    place: PagePlace,
}

/// The place of a page in the text of a part. Python servers wrap values as `{"result": …}`.
#[derive(Debug)]
enum PagePlace {
    /// The text is the page.
    Whole,
    /// The page is the sole member of an object, with this name.
    Member(String, Span),
    /// The page is JSON in a string that is the sole member of an object.
    String(Span),
}

impl FoundPage {
    /// Finds the page in all parts that have one.
    pub(super) fn find_all(result: &Payload, pushdown: &Pushdown) -> Vec<Self> {
        let blocks = result.blocks.iter().enumerate();
        blocks.filter_map(|(at, block)| Self::find(at, &block.content, pushdown)).collect()
    }

    /// Finds the page in the part that is read: `structuredContent` comes before text, which may be the first item.
    pub(super) fn find_primary(result: &Payload, pushdown: &Pushdown) -> Option<Self> {
        let find = |is_structured: bool| {
            let blocks = result.blocks.iter().enumerate();
            blocks
                .filter(|(_, block)| matches!(block.content, Content::Structured(_)) == is_structured)
                .find_map(|(at, block)| Self::find(at, &block.content, pushdown))
        };
        find(true).or_else(|| find(false))
    }

    /// Returns the index of the part that is read.
    pub(super) fn primary_index(all: &[Self]) -> Option<usize> {
        all.iter().position(|found| found.is_structured).or((!all.is_empty()).then_some(0))
    }

    fn find(block: usize, content: &Content, pushdown: &Pushdown) -> Option<Self> {
        let (Content::Text(text) | Content::Structured(text)) = content else { return None };
        let is_structured = matches!(content, Content::Structured(_));
        let found = |text: String, page, place| Some(Self { block, is_structured, text, page, place });
        if let Some(page) = ListPage::parse(text, pushdown) {
            return found(text.clone(), page, PagePlace::Whole);
        }
        let mut reader = JsonReader::new(text);
        let root = reader.skip().ok()?;
        reader.expect_end().ok()?;
        let members = members(text, root);
        let [(name, value)] = &*members else { return None };
        let json = value.slice(text);
        if JsonKind::of_value(json) == JsonKind::String {
            let inner = unescape(json);
            let page = ListPage::parse(&inner, pushdown)?;
            return found(inner, page, PagePlace::String(*value));
        }
        let place = PagePlace::Member(name.clone(), *value);
        found(json.to_owned(), ListPage::parse(json, pushdown)?, place)
    }

    /// Returns the path of the list in one of the parts that carry it, if it is not in a string in all of them.
    pub(super) fn list_path(all: &[Self], carriers: &[Carrier]) -> Option<Arc<str>> {
        let has_list = |found: &&Self| carriers.iter().any(|carrier| carrier.block == found.block);
        let path = |found: &Self| match (&found.place, &*found.page.path) {
            (PagePlace::Whole, _) => Some(Arc::clone(&found.page.path)),
            (PagePlace::Member(name, _), path) if path.is_empty() || path.starts_with('/') => {
                Some(format!("/{}{path}", escape_step(name)).into())
            }
            (PagePlace::Member(..) | PagePlace::String(_), _) => None,
        };
        // Requests without a path are about a text, if there is one.
        let (structured, texts): (Vec<&Self>, Vec<&Self>) =
            all.iter().filter(has_list).partition(|found| found.is_structured);
        texts.into_iter().chain(structured).find_map(path)
    }

    fn list(&self) -> &str {
        self.page.list.slice(&self.text)
    }

    /// Returns the carrier of the list. `text`: that of the part.
    fn carrier(&self, text: &str) -> Carrier {
        let list = self.page.list;
        let around = |text: &str, offset: usize| {
            let (start, end) = (offset + list.start as usize, offset + list.end as usize);
            (text[..=start].to_owned(), text[end - 1..].to_owned())
        };
        let (before, after) = match &self.place {
            PagePlace::Whole => around(text, 0),
            PagePlace::Member(_, span) => around(text, span.start as usize),
            PagePlace::String(_) => around(&self.text, 0),
        };
        let around_string = match &self.place {
            PagePlace::String(span) => {
                Some((text[..span.start as usize].to_owned(), text[span.end as usize..].to_owned()))
            }
            _ => None,
        };
        Carrier { block: self.block, before, after, around_string }
    }
}

impl Carrier {
    /// Finds the list in all parts that repeat it. `found`: the pages of the result; `primary`: the one that is read.
    pub(super) fn find_all(result: &Payload, found: &[FoundPage], primary: &FoundPage) -> Vec<Self> {
        let repeats = |other: &&FoundPage| {
            let (list, other) = (primary.list(), other.list());
            list == other || is_equivalent_json(other, list)
        };
        let carrier = |found: &FoundPage| match &result.blocks[found.block].content {
            Content::Text(text) | Content::Structured(text) => Some(found.carrier(text)),
            _ => None,
        };
        found.iter().filter(repeats).filter_map(carrier).collect()
    }

    pub(super) fn with_items(&self, items: &str) -> String {
        let Self { before, after, .. } = self;
        let whole = format!("{before}{items}{after}");
        match &self.around_string {
            Some((start, end)) => format!("{start}{}{end}", quote(&whole)),
            None => whole,
        }
    }
}

/// Returns true if the parts that do not hold the list are text blocks, one for each item.
pub(super) fn has_item_blocks(page: &Payload, carriers: &[Carrier], items: usize) -> bool {
    let holds_list = |at: usize| carriers.iter().any(|carrier| carrier.block == at);
    let mut others =
        page.blocks.iter().enumerate().filter(|(at, _)| !holds_list(*at)).map(|(_, block)| block);
    let is_structured =
        |carrier: &Carrier| matches!(page.blocks[carrier.block].content, Content::Structured(_));
    carriers.iter().all(is_structured)
        && page.blocks.len() == items + carriers.len()
        && others.all(|block| matches!(block.content, Content::Text(_)))
}

/// Returns the payload that a snapshot was captured from.
pub(super) fn payload_of(snapshot: &Snapshot) -> Payload {
    let block = |part: &Part| {
        let text = part.text().to_owned();
        let content = match &part.body {
            PartBody::Indexed(_) if part.address == STRUCTURED_CONTENT => Content::Structured(text),
            PartBody::Indexed(_) => Content::Text(text),
            PartBody::Atomic { aside: true, .. } => Content::Extra(text),
            PartBody::Atomic { binary, .. } => Content::Atomic { json: text, binary: binary.clone() },
        };
        Block { label: part.label.clone(), ..Block::new(part.address.clone(), content) }
    };
    Payload {
        blocks: snapshot.parts().iter().map(block).collect(),
        invalid_utf8_count: snapshot.invalid_utf8(),
        frame_bytes: snapshot.frame(),
        paging_arguments: snapshot.paging().into(),
        list_path: fetched_list_path(snapshot),
        transport_page: snapshot.transport_page().cloned().map(Box::new),
        ..Payload::default()
    }
}

pub(crate) fn error_text(page: &Payload) -> String {
    let texts = page.blocks.iter().filter_map(|block| match &block.content {
        Content::Text(text) | Content::Structured(text) => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join(" ");
    text.chars().take(MAX_ERROR_CHARS).collect()
}

/// Returns the path of a list that is fetched page by page, unless its JSON is inside a text.
fn fetched_list_path(snapshot: &Snapshot) -> Option<Arc<str>> {
    let part = snapshot.main_part().filter(|_| snapshot.upstream_list().is_some())?;
    let part = snapshot.parts().get(part).filter(|part| part.json_origin.is_none())?;
    match &part.indexed_text()?.structure {
        Structure::List(list) => Some(list.pointer.as_str().into()),
        _ => None,
    }
}

/// Characters shown of an error of the upstream.
const MAX_ERROR_CHARS: usize = 200;
