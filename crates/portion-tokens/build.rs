//! Writes the published vocabularies and the kinds of characters as tables that need no decoding at run time.

use std::path::{Path, PathBuf};
use std::{env, fs};

use regex_syntax::hir::{Class, HirKind};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for name in ["o200k_base", "cl100k_base"] {
        write_vocabulary(&folder, name);
    }
    write_kinds(&folder);
}

/// Writes `NAME.lengths`, the length of each token in a byte, and `NAME.tokens`, the bytes of all tokens. Both are in the
/// order of ranks.
fn write_vocabulary(folder: &Path, name: &str) {
    let vocabulary = tiktoken::get_encoding(name).expect("its feature is on");
    let (mut lengths, mut tokens) = (Vec::new(), Vec::new());
    for rank in 0..vocabulary.vocab_size() as u32 {
        let token = vocabulary.decode(&[rank]);
        assert!(!token.is_empty(), "{name} has no token of rank {rank}");
        lengths.push(u8::try_from(token.len()).expect("tokens have at most 255 bytes"));
        tokens.extend(token);
    }
    write(folder, &format!("{name}.lengths"), &lengths);
    write(folder, &format!("{name}.tokens"), &tokens);
}

/// Writes the bit of each character's kind: `kinds.blocks` has the different blocks of 256 characters, a byte for each,
/// and `kinds.index` the number of the block for each 256 characters of Unicode, two bytes with the lowest first.
///
/// The patterns of vocabularies are defined by an engine for regular expressions, so the kinds are those of its tables.
fn write_kinds(folder: &Path) {
    // The bits of `CharSet`.
    let kinds = [
        r"[\p{Lu}\p{Lt}]",
        r"\p{Ll}",
        r"[\p{Lm}\p{Lo}]",
        r"\p{M}",
        r"\p{N}",
        r"[\r\n]",
        r"[\s&&[^\r\n]]",
        r"[^\s\p{L}\p{M}\p{N}]",
    ];
    let mut bits = vec![0; 0x11_0000];
    for (kind, pattern) in kinds.into_iter().enumerate() {
        let parsed = regex_syntax::parse(pattern).expect("a valid pattern");
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { panic!("{pattern} is no class") };
        for range in class.ranges() {
            bits[range.start() as usize..=range.end() as usize].fill(1_u8 << kind);
        }
    }
    let (mut blocks, mut index) = (Vec::<&[u8]>::new(), Vec::new());
    for block in bits.chunks(256) {
        let number = blocks.iter().position(|known| *known == block).unwrap_or(blocks.len());
        if number == blocks.len() {
            blocks.push(block);
        }
        index.extend(u16::try_from(number).expect("there are 4,352 blocks").to_le_bytes());
    }
    write(folder, "kinds.blocks", &blocks.concat());
    write(folder, "kinds.index", &index);
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let file = folder.join(name);
    fs::write(&file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
