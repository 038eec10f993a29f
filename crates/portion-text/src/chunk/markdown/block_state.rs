//! Classifies the lines of a Markdown text, one after another.

use memchr::{memchr, memmem};

use crate::chunk::ChunkWindow;
use crate::chunk::chunker::{Line, lines};

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// `# …`, with its level.
    Heading(u8),
    /// `===` or `---`: makes a one-line paragraph above it a heading of this level.
    Underline(u8),
    /// The first line of a code fence.
    FenceOpen,
    /// A line inside a fence, blank ones included.
    Fenced,
    /// The last line of a fence.
    FenceEnd,
    /// The first line of a list item.
    ListItem,
    /// A row of a table.
    TableRow,
    /// The line between the header and the body of a table.
    TableDelimiter,
    Quote,
    /// Front matter, or the inside of a comment or of `<pre>`.
    NonContent,
    /// A line of a block that begins with an HTML tag.
    Html,
    /// A line that begins with an end tag, even of a block above blank lines.
    HtmlEnd,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrontMatter {
    NotStarted,
    Open,
    Ended,
}

/// Start and end of regions that may contain blank lines.
const REGION_DELIMITERS: &[(&str, &str)] =
    &[("<!--", "-->"), ("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>")];
/// Elements that begin a block of HTML.
const HTML_BLOCK_ELEMENTS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "script",
    "section",
    "style",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Bytes within which front matter must end; otherwise its first line is a thematic break.
const MAX_FRONT_MATTER_BYTES: usize = 8 * 1024;

/// The blocks that are open after the lines read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockState {
    /// Character and length of the open fence.
    pub(super) fence: Option<(u8, usize)>,
    /// Text that ends the open comment or element.
    open_region_end: Option<&'static str>,
    /// True if the previous line is HTML.
    in_html: bool,
    front_matter: FrontMatter,
}

impl BlockState {
    /// Returns the state at the start of a text.
    pub(super) fn at_start(text: &str) -> Self {
        Self {
            fence: None,
            open_region_end: None,
            in_html: false,
            front_matter: if has_front_matter(text) { FrontMatter::NotStarted } else { FrontMatter::Ended },
        }
    }

    /// Returns the state within a text, inside the given fence if there is one.
    pub(super) fn in_text(fence: Option<(u8, usize)>) -> Self {
        Self { fence, open_region_end: None, in_html: false, front_matter: FrontMatter::Ended }
    }

    /// Returns true if the next line is inside a fence or ends it.
    pub(super) fn in_fence(&self) -> bool {
        self.fence.is_some()
    }

    /// Classifies the next line.
    pub(super) fn classify(&mut self, line: &str) -> LineKind {
        let content = line.trim();
        match self.front_matter {
            FrontMatter::Ended => {}
            FrontMatter::NotStarted => {
                self.front_matter = FrontMatter::Open;
                return LineKind::NonContent;
            }
            FrontMatter::Open => {
                self.front_matter =
                    if is_front_end(content) { FrontMatter::Ended } else { FrontMatter::Open };
                return LineKind::NonContent;
            }
        }
        if let Some((marker, length)) = self.fence {
            let closed = parse_fence(line)
                .is_some_and(|found| found.0 == marker && found.1 >= length && found.2.is_empty());
            self.fence = self.fence.filter(|_| !closed);
            return if closed { LineKind::FenceEnd } else { LineKind::Fenced };
        }
        if let Some(end) = self.open_region_end {
            self.open_region_end = Some(end).filter(|end| !line.contains(end));
            return LineKind::NonContent;
        }
        if let Some((marker, length, _)) = parse_fence(line) {
            self.fence = Some((marker, length));
            return LineKind::FenceOpen;
        }
        self.open_region_end = REGION_DELIMITERS
            .iter()
            .filter(|(open, _)| *open == "<!--" || content.starts_with(open))
            .find_map(|(open, end)| line.rfind(open).filter(|at| !line[*at..].contains(end)).and(Some(*end)));
        self.in_html = !content.is_empty() && (self.in_html || begins_html(content));
        match self.in_html {
            true if content.starts_with("</") => LineKind::HtmlEnd,
            true => LineKind::Html,
            false => classify_plain(line, content),
        }
    }
}

/// Returns true if a line begins a block of HTML, which a blank line ends.
fn begins_html(content: &str) -> bool {
    let Some(rest) = content.strip_prefix('<') else { return false };
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
    HTML_BLOCK_ELEMENTS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns true if a text begins with a block between `---` and `---` whose first line is not blank.
fn has_front_matter(text: &str) -> bool {
    let mut lines = text[..text.floor_char_boundary(MAX_FRONT_MATTER_BYTES)].lines().map(str::trim_end);
    lines.next() == Some("---")
        && lines.next().is_some_and(|first| !first.is_empty())
        && lines.any(is_front_end)
}

fn is_front_end(content: &str) -> bool {
    matches!(content, "---" | "...")
}

/// Classifies a line outside of fences, comments and front matter.
fn classify_plain(line: &str, content: &str) -> LineKind {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let all = |marker: char| !content.is_empty() && content.chars().all(|c| c == marker);
    match content.as_bytes() {
        [] | [b'>'] => LineKind::Blank,
        [b'#', ..] if !indented => heading_level(content).map_or(LineKind::Text, LineKind::Heading),
        [b'=', ..] if !indented && all('=') => LineKind::Underline(1),
        [b'-', ..] if !indented && all('-') && content.len() > 1 => LineKind::Underline(2),
        [b'>', ..] => LineKind::Quote,
        [b'|', ..] | [b':' | b'-', b'-', ..] if is_delimiter(content) => LineKind::TableDelimiter,
        [b'|', ..] => LineKind::TableRow,
        _ if is_item(content) => LineKind::ListItem,
        _ => LineKind::Text,
    }
}

/// Returns 1 to 6 for `# ` to `###### `, or for the same characters alone on a line.
fn heading_level(content: &str) -> Option<u8> {
    let text = content.trim_start_matches('#');
    let level = content.len() - text.len();
    (level <= 6 && (text.is_empty() || text.starts_with([' ', '\t']))).then_some(level as u8)
}

/// Returns the character, length and info string of a line that opens or closes a fence, also in a quote
/// or list item.
pub(super) fn parse_fence(line: &str) -> Option<(u8, usize, &str)> {
    let content = line.trim_start_matches([' ', '\t', '>']);
    let content = content.strip_prefix("- ").unwrap_or(content);
    let marker = *content.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = content.bytes().take_while(|b| *b == marker).count();
    let info = content[length..].trim();
    (length >= 3 && !(marker == b'`' && info.contains('`'))).then_some((marker, length, info))
}

/// Matches `- `, `* `, `+ `, `1. `, `1) `.
fn is_item(content: &str) -> bool {
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match content.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => &content[1..],
        Some(b'.' | b')') if (1..=9).contains(&digits) => &content[digits + 1..],
        _ => return false,
    };
    rest.is_empty() || rest.starts_with([' ', '\t'])
}

fn is_delimiter(content: &str) -> bool {
    content.contains('-')
        && content.contains('|')
        && content.bytes().all(|b| matches!(b, b'|' | b'-' | b':' | b' ' | b'\t'))
}

/// Maximum bytes to look back.
const LOOKBACK_BYTES: usize = 16 * 1024;

/// Returns the blocks that are open at the start of a window.
pub(super) fn open_blocks(window: &ChunkWindow) -> BlockState {
    let start = lookback_start(window);
    if start == 0 {
        return read_until_window(window, 0, BlockState::at_start(window.text));
    }
    let around = &window.text.as_bytes()[start..window.to];
    let opens = |sign: &str| memmem::find(around, sign.as_bytes()).is_some();
    if !["```", "~~~", "<!--"].into_iter().any(opens) {
        return BlockState::in_text(None);
    }
    let near: Vec<_> = lines(window.text, start..window.to).collect();
    let first = near.iter().find_map(|line| parse_fence(line.text));
    let outside = BlockState::in_text(None);
    let inside = BlockState::in_text(first.map(|(sign, length, _)| (sign, length)));
    let better =
        if count_oddities(&near, inside) < count_oddities(&near, outside) { inside } else { outside };
    read_until_window(window, start, better)
}

/// Returns the start of the line at which the lookback begins.
fn lookback_start(window: &ChunkWindow) -> usize {
    let back = window.text.ceil_char_boundary(window.from.saturating_sub(LOOKBACK_BYTES)).min(window.from);
    if back == 0 {
        return 0;
    }
    memchr(b'\n', &window.text.as_bytes()[back..window.from]).map_or(window.from, |feed| back + feed + 1)
}

fn read_until_window(window: &ChunkWindow, start: usize, mut blocks: BlockState) -> BlockState {
    let mut read = lines(window.text, start..window.from).peekable();
    while let Some(line) = read.next() {
        // A partial line that the window continues cannot be classified.
        if read.peek().is_none() && !window.begins_line() {
            break;
        }
        blocks.classify(line.text);
    }
    blocks
}

/// Counts the lines that look odd if these blocks are open at the first of them.
fn count_oddities(near: &[Line], mut blocks: BlockState) -> usize {
    let mut odd = 0;
    for (index, line) in near.iter().enumerate() {
        let before = blocks.fence;
        blocks.classify(line.text);
        let Some((_, _, info)) = parse_fence(line.text) else { continue };
        let blank = |at: Option<usize>| at.and_then(|at| near.get(at)).is_some_and(Line::is_blank);
        odd += match (before, blocks.fence) {
            (Some(_), Some(_)) if !info.is_empty() => 2,
            (None, Some(_)) if info.is_empty() => usize::from(blank(index.checked_add(1))),
            (Some(_), None) => usize::from(blank(index.checked_sub(1))),
            _ => 0,
        };
    }
    odd
}
