//! Snapshots of which some blocks are missing, and how they are completed.
//!
//! A page needs a few blocks of a long list. It is rendered from a snapshot with gaps; the snapshot notes which missing
//! blocks were needed. If there were any, the rendering is discarded and repeated with these blocks. So a rendering that
//! needed no missing block is the rendering of the whole snapshot.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::snapshot::{EncodedSnapshot, capture};
//!
//! let block = Block::new("/content/0/text", Content::Text("[1,2,3]".into()));
//! let encoded = EncodedSnapshot::new(&capture(Payload { blocks: vec![block], ..Payload::default() }));
//! let partial = EncodedSnapshot::decode_partial(&encoded.meta, &[None])?;
//! let _ = partial.parts()[0].text();
//! assert_eq!(partial.needed_blocks(), [0]);
//! let whole = partial.with_blocks(&[(0, encoded.blocks[0].clone())])?;
//! assert!(!whole.is_partial());
//! assert_eq!(whole.parts()[0].text(), "[1,2,3]");
//! # Ok::<(), portion_core::DecodeError>(())
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use portion_json::span::Span;

use super::slice::Gaps;
use super::{List, PartBody, Slice, Snapshot, Structure};
use crate::codec::DecodeError;

impl Snapshot {
    /// Returns true if blocks are missing.
    pub fn is_partial(&self) -> bool {
        self.slices().any(|slice| slice.gaps().is_some())
    }

    /// Returns the numbers of the missing blocks, ascending.
    pub fn missing_blocks(&self) -> Vec<u32> {
        let gaps = self.slices().filter_map(Slice::gaps).flat_map(Gaps::iter);
        let missing: BTreeSet<u32> = gaps.map(|gap| gap.block).collect();
        missing.into_iter().collect()
    }

    /// Returns the numbers of the missing blocks that were needed since the snapshot was made, ascending. What was
    /// computed is valid only if there are none.
    pub fn needed_blocks(&self) -> Vec<u32> {
        let needed: BTreeSet<u32> = self.slices().filter_map(Slice::gaps).flat_map(Gaps::needed).collect();
        needed.into_iter().collect()
    }

    /// Returns the same snapshot, of which no missing block was needed yet.
    #[must_use]
    pub fn without_needs(&self) -> Self {
        let same = |slice: &Slice| {
            let mut gaps = Gaps::default();
            slice.gaps().into_iter().flat_map(Gaps::iter).for_each(|gap| gaps.push(gap.span, gap.block));
            Ok::<_, DecodeError>(slice.with_gaps(gaps))
        };
        // The closure does not fail.
        self.with_texts(same).unwrap_or_else(|_| self.clone())
    }

    /// Returns the snapshot with some of the missing blocks. Blocks that are not missing are ignored.
    ///
    /// # Errors
    /// [`DecodeError`] if a block is not the missing one.
    pub fn with_blocks(&self, blocks: &[(u32, Vec<u8>)]) -> Result<Self, DecodeError> {
        self.with_texts(|slice| {
            let Some(gaps) = slice.gaps() else { return Ok(slice.clone()) };
            let old = slice.loaded().as_bytes();
            // Most of it is zero pages that are never written.
            let (mut text, mut left, mut copied) = (vec![0; old.len()], Gaps::default(), 0);
            for gap in gaps.iter() {
                let Span { start, end } = gap.span;
                let (start, end) = (start as usize, end as usize);
                text[copied..start].copy_from_slice(&old[copied..start]);
                copied = end;
                match blocks.iter().find(|(number, _)| *number == gap.block) {
                    None => left.push(gap.span, gap.block),
                    Some((_, block)) if block.len() == end - start => {
                        text[start..end].copy_from_slice(block);
                    }
                    Some(_) => return Err(DecodeError::Invalid("block")),
                }
            }
            text[copied..].copy_from_slice(&old[copied..]);
            let text = String::from_utf8(text).map_err(|_| DecodeError::Invalid("text"))?;
            Ok(Slice::new(text).with_gaps(left))
        })
    }

    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.parts.iter().flat_map(|part| {
            let own = match &part.body {
                PartBody::Indexed(subject) => &subject.text,
                PartBody::Atomic { json, .. } => json,
            };
            [Some(own), part.json_origin.as_ref().map(|origin| &origin.text)].into_iter().flatten()
        })
    }

    /// Returns the snapshot with each text replaced. Lists lose what was computed from the earlier texts.
    fn with_texts(
        &self,
        replace: impl Fn(&Slice) -> Result<Slice, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let mut replaced: Vec<(Slice, Slice)> = Vec::new();
        let mut moved = |slice: &Slice| {
            let known = replaced.iter().find(|(old, _)| old.shares_buffer(slice)).map(|(_, new)| new.clone());
            let whole = if let Some(whole) = known {
                whole
            } else {
                let old = slice.whole_buffer();
                let new = replace(&old)?;
                replaced.push((old, new.clone()));
                new
            };
            Ok::<_, DecodeError>(whole.subslice(Span::new(slice.start(), slice.start() + slice.len())))
        };
        let mut snapshot = self.clone();
        for part in &mut snapshot.parts {
            match &mut part.body {
                PartBody::Indexed(subject) => {
                    subject.text = moved(&subject.text)?;
                    if let Structure::List(list) = &mut subject.structure {
                        let uncomputed = List {
                            facts: OnceLock::new(),
                            null_columns: OnceLock::new(),
                            ..List::clone(list)
                        };
                        *list = Arc::new(uncomputed);
                    }
                }
                PartBody::Atomic { json, .. } => *json = moved(json)?,
            }
            if let Some(origin) = &mut part.json_origin {
                origin.text = moved(&origin.text)?;
            }
        }
        Ok(snapshot)
    }
}
