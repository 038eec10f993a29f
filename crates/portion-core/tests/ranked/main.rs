//! What retrieval brings: the best first, whole records only, and the others by the cursor.

mod kinds;
mod material;
mod scenarios;
