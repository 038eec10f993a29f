//! Names of the members by which a page of a list says its total and its next page.
//!
//! The gateway follows members of these names without configuration, and `portion check` looks for the same ones.

/// Objects around a list that hold facts about the page.
pub const PAGE_OBJECTS: &[&str] = &[
    "pagination",
    "meta",
    "paging",
    "page",
    "pageInfo",
    "page_info",
    "metadata",
    "_meta",
    "response_metadata",
    "responseMetadata",
    "result_info",
    "cursors",
    "links",
    "_links",
];
/// Objects within those that hold the cursor of the next page.
pub const CURSOR_OBJECTS: &[&str] = &["cursors", "pagination"];
/// Number of items of the whole list, the most specific name first.
pub const TOTAL_NAMES: &[&str] = &[
    "totalCount",
    "total_count",
    "totalResults",
    "total_results",
    "totalItems",
    "total_items",
    "totalElements",
    "total_elements",
    "total",
    "numFound",
    "count",
];
/// Boolean that is true if more items follow.
pub const HAS_MORE_NAMES: &[&str] =
    &["hasMore", "has_more", "hasNextPage", "has_next_page", "hasNext", "has_next", "more"];
/// Member that leads to the next page.
pub const NEXT_NAMES: &[&str] = &[
    "nextCursor",
    "next_cursor",
    "nextPageToken",
    "next_page_token",
    "nextToken",
    "next_token",
    "endCursor",
    "end_cursor",
    "next",
    "nextPage",
    "next_page",
    "nextOffset",
    "next_offset",
    "nextLink",
    "next_link",
    "@odata.nextLink",
    "nextPageUrl",
    "next_page_url",
];
/// Members of an object about the next page that lead to it.
pub const NEXT_MEMBERS: &[&str] = &["after", "cursor", "href", "url", "link", "token"];
/// Member that leads to the next page in an object that holds only cursors.
pub const AFTER_NAME: &str = "after";
/// Name of a total that may also be the number of items of the page.
pub const AMBIGUOUS_TOTAL_NAME: &str = "count";
/// Number of this page, besides the names of arguments for one.
pub const PAGE_NUMBER_NAMES: &[&str] = &["current_page", "currentPage", "number"];
/// Number of pages.
pub const PAGE_COUNT_NAMES: &[&str] = &[
    "pages",
    "totalPages",
    "total_pages",
    "pageCount",
    "page_count",
    "lastPage",
    "last_page",
    "numPages",
    "num_pages",
    "nbPages",
    "max_num_pages",
];
