//! Tests of retrieval results: whole records, the best first, and the others by cursor.

mod kinds;
mod material;
mod scenarios;
