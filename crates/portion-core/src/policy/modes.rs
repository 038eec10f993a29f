//! What an operator chooses between.

/// How the records of a page are written in text. What is for programs is always as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowStyle {
    /// As the upstream wrote them.
    #[default]
    Objects,
    /// As a table, columns once, where that costs less.
    Auto,
}

/// In which order a list is shown that nobody asked to be in any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderStrategy {
    /// By score where the records are what retrieval brings, else as it came.
    #[default]
    Auto,
    /// As it came.
    Plain,
    /// By score, wherever every record has one.
    Ranked,
}

/// Which of ranked records are shown where not all fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillStrategy {
    /// The best, until the next would exceed the budget.
    #[default]
    Stop,
    /// The best, those passed over that do not fit.
    Skip,
    /// Those worth most by score and likeness to the best; at the end of the budget, worth most for what they cost.
    Value,
}

impl FillStrategy {
    /// Its name in options and notices.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Skip => "skip",
            Self::Value => "value",
        }
    }
}
