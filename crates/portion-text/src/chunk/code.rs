//! Finds boundaries in source code and similar text. A unit is the text between blank lines at the left
//! margin, or between the ends of two blocks there.

use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, indent};

/// Shares of lines in per cent: see [`CodeChunker::matches`].
const MOSTLY_CODE_PERCENT: usize = 60;
const PARTLY_CODE_PERCENT: usize = 35;
const MIN_KEYWORD_PERCENT: usize = 8;
/// Line starts that are typical of code.
const LINE_STARTS: &[&str] = &[
    "//",
    "/*",
    "import ",
    "from ",
    "def ",
    "class ",
    "fn ",
    "pub ",
    "let ",
    "const ",
    "var ",
    "return",
    "func ",
    "function ",
    "package ",
    "use ",
    "mod ",
    "public ",
    "private ",
    "protected ",
    "static ",
    "export ",
    "async ",
    "if (",
    "for (",
    "while (",
    "} ",
    "impl ",
    "struct ",
    "enum ",
    "type ",
    "interface ",
    "namespace ",
    "using ",
    "<?",
    "self.",
    "this.",
    "raise ",
    "@",
    "'''",
    "\"\"\"",
    "elif ",
    "echo ",
    "fi",
    "done",
    "esac",
    "require ",
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE ",
    "CREATE ",
    "ALTER ",
    "DROP ",
    "FROM ",
    "WHERE ",
    "ORDER BY ",
    "GROUP BY ",
    "VALUES ",
    "JOIN ",
    "LEFT JOIN ",
];
/// Line ends that are typical of code.
const LINE_ENDS: &[&str] = &[
    "{", "}", ";", "};", "})", "(", "[", "],", "},", "=>", "):", ") {", "*/", "/>", "&&", "||", "; then",
    "; do",
];

/// Cuts between functions and declarations.
#[derive(Debug)]
pub(super) struct CodeChunker;

impl Chunker for CodeChunker {
    fn kind(&self) -> TextKind {
        TextKind::Code
    }

    /// Matches text that names its interpreter, or where most lines look like code, or many lines do and
    /// some of them start with typical keywords. Comments are ignored, because they can contain anything.
    /// Code in fences or beside links and headings is part of a document.
    fn matches(&self, sample: &TextSample) -> bool {
        if sample.text().starts_with("#!/") {
            return true;
        }
        let (mut lines, mut code, mut keyword_lines) = (0, 0, 0);
        let (mut fences, mut headings, mut linked) = (0, 0, 0);
        for line in sample.lines() {
            let content = line.trimmed();
            fences += usize::from(line.text.starts_with("```"));
            headings += usize::from(line.text.starts_with("## "));
            linked += usize::from(content.contains("]("));
            if !content.starts_with(['#', '*']) {
                let begins = LINE_STARTS.iter().any(|beginning| content.starts_with(beginning));
                lines += 1;
                keyword_lines += usize::from(begins);
                code += usize::from(begins || looks_like_code(content));
            }
        }
        let is_document = fences > 1 || headings > 0 && linked > 1;
        let is_code = code * 100 >= lines * MOSTLY_CODE_PERCENT
            || code * 100 >= lines * PARTLY_CODE_PERCENT
                && keyword_lines * 100 >= lines * MIN_KEYWORD_PERCENT;
        lines >= 3 && is_code && !is_document
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        indent::mark_levels(window.lines(), |context| {
            let ended = context.after_gap || context.above.indent() > 0 || ends_block(context.above.text);
            if context.line.indent() > 0 || indent::continues_block(context) {
                None
            } else if ended {
                Some(BoundaryLevel::Unit)
            } else {
                // One of several adjacent declarations or statements.
                context.above.text.trim_end().ends_with(';').then_some(BoundaryLevel::Item(0))
            }
        })
    }
}

fn ends_block(line: &str) -> bool {
    line.starts_with(['}', ')', ']']) || line.starts_with("end")
}

fn looks_like_code(line: &str) -> bool {
    LINE_ENDS.iter().any(|end| line.ends_with(end))
        || [" = ", " == ", " := ", " += ", " != ", "();"].iter().any(|mark| line.contains(mark))
        || is_call(line)
}

/// Matches `name(…)` or `name(…),`: a call or a declaration alone on a line.
fn is_call(line: &str) -> bool {
    let opened = line
        .find('(')
        .is_some_and(|at| line[..at].ends_with(char::is_alphanumeric) && !line[..at].contains(' '));
    opened && line.trim_end_matches([',', ':']).ends_with(')')
}
