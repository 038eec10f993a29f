//! Shows where a text is cut: a JSON line for each chunk, with its kind, its bytes and its tokens.
//!
//!     cargo run -p portion-core --example chunks -- [--tokens 2000] [--lines N] [--tokenizer o200k] [FILE]...
//!
//! Without a file it reads what is piped in. Byte ranges are `from` inclusive, `to` exclusive.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::io::Read;

use portion_text::chunk::{ChunkLimits, chunker_for, cut};
use portion_tokens::Tokenizer;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut tokens, mut lines, mut tokenizer, mut files) = (2_000, usize::MAX, Tokenizer::O200k, vec![]);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--tokens" => tokens = value()?.parse()?,
            "--lines" => lines = value()?.parse()?,
            "--tokenizer" => tokenizer = value()?.parse()?,
            _ => files.push(word),
        }
    }
    let limits = ChunkLimits {
        counter: tokenizer.counter(),
        max_tokens: tokens,
        max_lines: lines,
        max_bytes: usize::MAX,
    };
    for file in &files {
        show(file, &std::fs::read(file)?, &limits);
    }
    if files.is_empty() {
        let mut piped = Vec::new();
        std::io::stdin().read_to_end(&mut piped)?;
        show("-", &piped, &limits);
    }
    Ok(())
}

fn show(file: &str, bytes: &[u8], limits: &ChunkLimits) {
    let text = String::from_utf8_lossy(bytes);
    let chunker = chunker_for(&text);
    let mut from = 0;
    while from < text.len() {
        let to = cut(&text, from, text.len(), chunker, limits);
        let tokens = limits.counter.count(&text[from..to]);
        println!(
            "{}",
            json!({ "file": file, "kind": chunker.name(), "from": from, "to": to, "tokens": tokens })
        );
        from = to;
    }
}
