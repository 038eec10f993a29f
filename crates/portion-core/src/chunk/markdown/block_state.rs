//! What each line of a markdown text is, read one after the other.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// `# …`, with its level.
    Heading(u8),
    /// `===` or `---`: makes a paragraph of one line above it a heading of this level.
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
    /// The line between the head and the body of a table.
    TableDelimiter,
    Quote,
    /// Front matter, or the inside of a comment or of `<pre>`.
    NonContent,
    /// A line of a block that begins with the tag of an element.
    Html,
    /// An end tag with which a line begins, be it of a block above blank lines.
    HtmlEnd,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrontMatter {
    NotStarted,
    Open,
    Ended,
}

/// What goes on over blank lines up to its end.
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
/// Bytes within which front matter must end; else its first line is a thematic break.
const MAX_FRONT_MATTER_BYTES: usize = 8 * 1024;

/// The blocks that are open after the lines read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockState {
    /// The sign and the length of the open fence.
    pub(super) fence: Option<(u8, usize)>,
    /// What ends the comment or the element that is open.
    open_region_end: Option<&'static str>,
    /// Whether the line above is one of HTML.
    in_html: bool,
    front_matter: FrontMatter,
}

impl BlockState {
    /// At the beginning of a text.
    pub(super) fn at_start(text: &str) -> Self {
        Self {
            fence: None,
            open_region_end: None,
            in_html: false,
            front_matter: if has_front_matter(text) { FrontMatter::NotStarted } else { FrontMatter::Ended },
        }
    }

    /// Somewhere in a text, in this fence if in any.
    pub(super) fn in_text(fence: Option<(u8, usize)>) -> Self {
        Self { fence, open_region_end: None, in_html: false, front_matter: FrontMatter::Ended }
    }

    /// Whether the next line is inside a fence, or ends one.
    pub(super) fn in_fence(&self) -> bool {
        self.fence.is_some()
    }

    /// What the next line is.
    pub(super) fn classify(&mut self, line: &str) -> LineKind {
        let said = line.trim();
        match self.front_matter {
            FrontMatter::Ended => {}
            FrontMatter::NotStarted => {
                self.front_matter = FrontMatter::Open;
                return LineKind::NonContent;
            }
            FrontMatter::Open => {
                self.front_matter = if is_front_end(said) { FrontMatter::Ended } else { FrontMatter::Open };
                return LineKind::NonContent;
            }
        }
        if let Some((sign, length)) = self.fence {
            let closed = parse_fence(line)
                .is_some_and(|found| found.0 == sign && found.1 >= length && found.2.is_empty());
            self.fence = self.fence.filter(|_| !closed);
            return if closed { LineKind::FenceEnd } else { LineKind::Fenced };
        }
        if let Some(end) = self.open_region_end {
            self.open_region_end = Some(end).filter(|end| !line.contains(end));
            return LineKind::NonContent;
        }
        if let Some((sign, length, _)) = parse_fence(line) {
            self.fence = Some((sign, length));
            return LineKind::FenceOpen;
        }
        self.open_region_end = REGION_DELIMITERS
            .iter()
            .filter(|(open, _)| *open == "<!--" || said.starts_with(open))
            .find_map(|(open, end)| line.rfind(open).filter(|at| !line[*at..].contains(end)).and(Some(*end)));
        self.in_html = !said.is_empty() && (self.in_html || begins_html(said));
        match self.in_html {
            true if said.starts_with("</") => LineKind::HtmlEnd,
            true => LineKind::Html,
            false => classify_plain(line, said),
        }
    }
}

/// Whether a line begins a block of HTML, which a blank line ends.
fn begins_html(said: &str) -> bool {
    let Some(rest) = said.strip_prefix('<') else { return false };
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
    HTML_BLOCK_ELEMENTS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a text begins with a block between `---` and `---`, its first line not blank.
fn has_front_matter(text: &str) -> bool {
    let mut lines = text[..text.floor_char_boundary(MAX_FRONT_MATTER_BYTES)].lines().map(str::trim_end);
    lines.next() == Some("---")
        && lines.next().is_some_and(|first| !first.is_empty())
        && lines.any(is_front_end)
}

fn is_front_end(said: &str) -> bool {
    matches!(said, "---" | "...")
}

/// What a line is outside of fences, comments and front matter.
fn classify_plain(line: &str, said: &str) -> LineKind {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let all = |sign: char| !said.is_empty() && said.chars().all(|c| c == sign);
    match said.as_bytes() {
        [] | [b'>'] => LineKind::Blank,
        [b'#', ..] if !indented => heading_level(said).map_or(LineKind::Text, LineKind::Heading),
        [b'=', ..] if !indented && all('=') => LineKind::Underline(1),
        [b'-', ..] if !indented && all('-') && said.len() > 1 => LineKind::Underline(2),
        [b'>', ..] => LineKind::Quote,
        [b'|', ..] | [b':' | b'-', b'-', ..] if is_delimiter(said) => LineKind::TableDelimiter,
        [b'|', ..] => LineKind::TableRow,
        _ if is_item(said) => LineKind::ListItem,
        _ => LineKind::Text,
    }
}

/// 1 to 6 for `# ` to `###### `, or the same with nothing after it.
fn heading_level(said: &str) -> Option<u8> {
    let text = said.trim_start_matches('#');
    let level = said.len() - text.len();
    (level <= 6 && (text.is_empty() || text.starts_with([' ', '\t']))).then_some(level as u8)
}

/// Sign, length and info string of a line that opens or closes a fence, be it in a quote, an item or neither.
pub(super) fn parse_fence(line: &str) -> Option<(u8, usize, &str)> {
    let said = line.trim_start_matches([' ', '\t', '>']);
    let said = said.strip_prefix("- ").unwrap_or(said);
    let sign = *said.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let length = said.bytes().take_while(|b| *b == sign).count();
    let info = said[length..].trim();
    (length >= 3 && !(sign == b'`' && info.contains('`'))).then_some((sign, length, info))
}

/// `- `, `* `, `+ `, `1. `, `1) `.
fn is_item(said: &str) -> bool {
    let digits = said.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match said.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => &said[1..],
        Some(b'.' | b')') if (1..=9).contains(&digits) => &said[digits + 1..],
        _ => return false,
    };
    rest.is_empty() || rest.starts_with([' ', '\t'])
}

fn is_delimiter(said: &str) -> bool {
    said.contains('-')
        && said.contains('|')
        && said.bytes().all(|b| matches!(b, b'|' | b'-' | b':' | b' ' | b'\t'))
}
