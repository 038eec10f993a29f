//! Reads HTML: tags, headings and text.
//!
//! ```
//! use portion_text::html::{headings, plain_text};
//!
//! let page = "<h1>Tea</h1><p>Hot.</p><h2>Green &amp; black</h2><p>Both.</p>";
//! let found = headings(page);
//! assert_eq!((found[1].level, found[1].title.as_ref()), (2, "Green & black"));
//! assert_eq!(plain_text(&page[found[1].start..found[1].end]), "Green & black Both.");
//! ```

mod cell_span;
mod outline;
mod tags;
mod text;

pub use cell_span::CellSpan;
pub use outline::{has_headings, headings};
pub(crate) use tags::{HtmlTag, HtmlTags};
pub use text::plain_text;
