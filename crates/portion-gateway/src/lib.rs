//! The edge of Portion.
