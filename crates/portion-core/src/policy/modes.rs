//! Choices of an operator for the format and order of records, each with its name in configurations.

use crate::named_choices::named_choices;

/// Format of the records of a page in text. Structured content for programs is never changed by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowStyle {
    /// As the upstream wrote them.
    #[default]
    Objects,
    /// As a table with the columns named once, where that costs less. Not in bodies of HTTP, where programs expect lists.
    Auto,
    /// Like [`Self::Auto`], in bodies of HTTP, too.
    Tables,
}

/// Content of a first reply beside its description of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstRows {
    /// A page of records, or a chunk of text.
    #[default]
    Page,
    /// A few records or lines as an example.
    Sample,
}

/// Order of a list when the request asks for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderStrategy {
    /// By score if the records look like search results, else in the upstream's order.
    #[default]
    Auto,
    /// In the upstream's order.
    Plain,
    /// By score, if every record has one.
    Ranked,
}

/// Selection of ranked records when not all fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillStrategy {
    /// The best ones, until the next would exceed the budget.
    #[default]
    Stop,
    /// The best ones, skipping those that do not fit.
    Skip,
    /// Those of the highest value by score and similarity to the best; near the end of the budget, of the
    /// highest value per token.
    Value,
}

named_choices!(RowStyle { Objects = "objects", Auto = "auto", Tables = "tables" });
named_choices!(FirstRows { Page = "page", Sample = "sample" });
named_choices!(OrderStrategy { Auto = "auto", Plain = "plain", Ranked = "ranked" });
named_choices!(FillStrategy { Stop = "stop", Skip = "skip", Value = "value" });
