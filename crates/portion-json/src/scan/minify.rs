//! Removes the white space between JSON tokens. Every token keeps its bytes.

use super::block::{BLOCK_BYTES, plain_prefix_len};

/// Appends valid JSON without insignificant white space.
pub fn minify(json: &str, out: &mut String) {
    let bytes = json.as_bytes();
    let mut done = 0;
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => i = string_end(bytes, i),
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.push_str(&json[done..i]);
                while i < bytes.len() && matches!(bytes[i], b' ' | b'\n' | b'\r' | b'\t') {
                    i += 1;
                }
                done = i;
            }
            _ => i += 1,
        }
    }
    out.push_str(&json[done..]);
}

/// Returns valid JSON without insignificant white space.
pub fn minified(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    minify(json, &mut out);
    out
}

/// Returns the offset after the string that begins at `start`, in valid JSON.
pub fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while i < bytes.len() {
        if let Some(block) = bytes.get(i..i + BLOCK_BYTES) {
            let plain = plain_prefix_len(block);
            i += plain;
            if plain == BLOCK_BYTES {
                continue;
            }
        }
        match bytes[i] {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
}
