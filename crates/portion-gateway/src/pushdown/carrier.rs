//! Finds the list in the parts of a result. The same list may be in a text, in `structuredContent`, and in a string of it.

use portion_core::payload::{Content, Payload};
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

impl Carrier {
    /// Finds the list in all parts that repeat it. `primary`: the text of the page.
    pub(super) fn find_all(page: &Payload, primary: &str, pushdown: &Pushdown) -> Vec<Self> {
        let blocks = page.blocks.iter().enumerate();
        let list_of = |text: &str| Some(ListPage::parse(text, pushdown)?.list.slice(text).to_owned());
        let Some(list) = list_of(primary) else { return Vec::new() };
        let repeats = |content: &Content| {
            let text = page_text(content, pushdown);
            text.and_then(|text| list_of(&text)).is_some_and(|other| is_equivalent_json(&other, &list))
        };
        blocks
            .filter(|(_, block)| repeats(&block.content))
            .filter_map(|(at, block)| Self::find(at, &block.content, pushdown))
            .collect()
    }

    fn find(block: usize, content: &Content, pushdown: &Pushdown) -> Option<Self> {
        let (Content::Text(text) | Content::Structured(text)) = content else { return None };
        let around = |inner: &str, list: Span, offset: usize| {
            (
                inner[..=offset + list.start as usize].to_owned(),
                inner[offset + list.end as usize - 1..].to_owned(),
            )
        };
        match wrapped(text, pushdown)? {
            Wrapped::Plain => {
                let list = ListPage::parse(text, pushdown)?.list;
                let (before, after) = around(text, list, 0);
                Some(Self { block, before, after, around_string: None })
            }
            Wrapped::Value(span) => {
                let list = ListPage::parse(span.slice(text), pushdown)?.list;
                let (before, after) = around(text, list, span.start as usize);
                Some(Self { block, before, after, around_string: None })
            }
            Wrapped::String(span, inner) => {
                let list = ListPage::parse(&inner, pushdown)?.list;
                let (before, after) = around(&inner, list, 0);
                let around_string =
                    Some((text[..span.start as usize].to_owned(), text[span.end as usize..].to_owned()));
                Some(Self { block, before, after, around_string })
            }
        }
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

/// The place of a page in a text.
enum Wrapped {
    /// The text is the page.
    Plain,
    /// The page is the sole member of an object.
    Value(Span),
    /// The page is JSON in a string that is the sole member of an object.
    String(Span, String),
}

/// Finds the page in a text: Python servers wrap values as `{"result": …}`.
fn wrapped(text: &str, pushdown: &Pushdown) -> Option<Wrapped> {
    if ListPage::parse(text, pushdown).is_some() {
        return Some(Wrapped::Plain);
    }
    let mut reader = JsonReader::new(text);
    let root = reader.skip().ok()?;
    reader.expect_end().ok()?;
    let members = members(text, root);
    let [(_, value)] = &*members else { return None };
    let json = value.slice(text);
    if JsonKind::of_value(json) == JsonKind::String {
        let inner = unescape(json);
        return ListPage::parse(&inner, pushdown).map(|_| ()).map(|()| Wrapped::String(*value, inner));
    }
    ListPage::parse(json, pushdown).map(|_| Wrapped::Value(*value))
}

/// Returns the text of the page. `structuredContent` comes before text, which may be the first item.
pub(super) fn primary_text(page: &Payload, pushdown: &Pushdown) -> Option<String> {
    let of_kind = |structured: bool| {
        let blocks = page.blocks.iter().map(|block| &block.content);
        blocks
            .filter(|content| matches!(content, Content::Structured(_)) == structured)
            .find_map(|content| page_text(content, pushdown))
    };
    of_kind(true).or_else(|| of_kind(false))
}

fn page_text(content: &Content, pushdown: &Pushdown) -> Option<String> {
    let (Content::Text(text) | Content::Structured(text)) = content else { return None };
    Some(match wrapped(text, pushdown)? {
        Wrapped::Plain => text.clone(),
        Wrapped::Value(span) => span.slice(text).to_owned(),
        Wrapped::String(_, inner) => inner,
    })
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
