//! The page that a call requests first, and its place in the list of the upstream.

use portion_core::view::Request;
use portion_policy::pushdown::PagingStyle;

use super::{PagedCall, with_argument};

/// The page that a call requests first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstPage {
    /// One that the gateway chooses: the number of items before it, and its size.
    Chosen {
        /// Number of items before it.
        start: usize,
        /// Number of items to ask for.
        size: usize,
    },
    /// The one that the caller's own arguments select.
    Own(OwnPage),
    /// That of a call without arguments for paging, which has `size` items.
    Plain {
        /// Number of its items.
        size: usize,
    },
}

/// The page that the caller's own arguments select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPage {
    /// The caller's own arguments, a JSON object.
    pub(super) arguments: String,
    /// Number of items that they ask for; `None`: the tool decides.
    pub(crate) size: Option<usize>,
    pub(super) position: OwnPosition,
}

/// The place of a page in the list of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnPosition {
    /// The caller's arguments select no page.
    First,
    /// This many items before it, as the tool's argument says that the caller gave.
    Given(usize),
    /// This many items before it, as the caller said by another name.
    Index(usize),
    /// This many pages before it.
    Page(usize),
    /// After a cursor, an id, or by an argument that the paging does not use.
    Unknown,
}

impl OwnPage {
    /// Reads the page that a caller's own arguments select. Where the tool takes an offset and the request has one by another
    /// name, the tool's argument is set.
    pub(super) fn new(
        mut arguments: String,
        value_of: impl Fn(&str) -> Option<String>,
        request: &Request,
        call: &PagedCall,
        default_page_size: usize,
    ) -> Self {
        let number = |name: &str| value_of(name).and_then(|value| value.parse::<usize>().ok());
        let size = call.names.limit.as_deref().and_then(number).filter(|size| *size > 0);
        let given = call.names.page.as_deref().filter(|name| value_of(name).is_some());
        let wanted = request.first_item(request.limit.map_or(default_page_size, |limit| limit as usize));
        let position = match (given, &call.pushdown.style) {
            (Some(name), PagingStyle::Offset(_)) => number(name).map(OwnPosition::Given),
            (Some(name), PagingStyle::Page(_, start)) => {
                number(name).and_then(|page| page.checked_sub(*start as usize)).map(OwnPosition::Page)
            }
            (Some(_), _) => None,
            (None, _)
                if ["page", "pages", "offset", "cursor"].into_iter().any(|name| value_of(name).is_some()) =>
            {
                None
            }
            (None, PagingStyle::Offset(_)) => {
                let set = call.names.page.as_deref().zip(wanted.filter(|wanted| *wanted > 0));
                Some(set.map_or(OwnPosition::First, |(name, wanted)| {
                    arguments = with_argument(&arguments, name, wanted.to_string());
                    OwnPosition::Index(wanted)
                }))
            }
            (None, _) => Some(OwnPosition::First),
        };
        Self { arguments, size, position: position.unwrap_or(OwnPosition::Unknown) }
    }

    /// Returns true if the arguments select a page.
    pub(super) fn selects_page(&self) -> bool {
        self.position != OwnPosition::First
    }

    /// Returns the number of items before the page, and that of pages, if they are known and the page says how the list goes on.
    /// `received`: the items of the page. `total`, `page_count` and `goes_on` are what it says: the items of the list, its pages, and
    /// if there are more.
    pub(crate) fn place(
        &self,
        received: usize,
        (total, page_count): (Option<usize>, Option<usize>),
        goes_on: Option<bool>,
    ) -> Option<(usize, u64)> {
        // A full page goes on, or the next one is empty.
        let is_told = total.is_some() || goes_on.is_some() || received > 0 && self.size == Some(received);
        let is_before_others = |pages: usize| page_count.is_some_and(|count| pages + 1 < count);
        let goes_on = match self.position {
            OwnPosition::Page(pages) => goes_on.unwrap_or_else(|| is_before_others(pages)),
            _ => goes_on.unwrap_or_default(),
        };
        let skipped = match self.position {
            OwnPosition::First | OwnPosition::Page(0) => Some(0),
            OwnPosition::Index(index) => Some(index),
            // An upstream with items after the end does not apply the offset: its page is served as it is.
            OwnPosition::Given(index) => {
                Some(index).filter(|index| received == 0 || total.is_none_or(|total| *index < total))
            }
            OwnPosition::Page(pages) if goes_on || self.size == Some(received) => Some(pages * received),
            // The last page may be short.
            OwnPosition::Page(_) => total.and_then(|total| total.checked_sub(received)),
            OwnPosition::Unknown => None,
        };
        let pages = if let OwnPosition::Page(pages) = self.position { pages as u64 } else { 0 };
        skipped.filter(|_| is_told).map(|skipped| (skipped, pages))
    }

    /// Returns the number of items of a page, as those before it have it: the last page may be short.
    pub(crate) fn page_size(&self, skipped: usize, received: usize) -> usize {
        let of_others = match self.position {
            OwnPosition::Page(pages) => skipped.checked_div(pages).unwrap_or_default(),
            _ => 0,
        };
        self.size.unwrap_or_else(|| of_others.max(received))
    }

    /// Returns the request for the page, in the list that begins with it.
    pub(crate) fn request(&self, request: Request, skipped: usize, received: usize) -> Request {
        let OwnPosition::Page(_) = self.position else { return request };
        let size = u32::try_from(self.page_size(skipped, received)).ok();
        let limit = request.limit.or(size.filter(|size| received > 0 && *size > 0));
        Request { offset: u32::try_from(skipped).ok(), limit, ..request.without_paging() }
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnPage, OwnPosition};

    #[test]
    fn a_short_last_page_has_the_size_of_those_before_it() {
        let check = |pages, size, (received, total), expect| {
            let own = OwnPage { arguments: "{}".to_owned(), size, position: OwnPosition::Page(pages) };
            let place = own.place(received, (Some(total), None), Some(false)).map(|(skipped, _)| skipped);
            let sized = place.map(|skipped| (skipped, own.page_size(skipped, received)));
            assert_eq!(sized, Some(expect), "{own:?}");
        };
        check(7, None, (10, 150), (140, 20));
        check(1, None, (1, 21), (20, 20));
        check(0, None, (10, 10), (0, 10));
        check(2, Some(50), (3, 103), (100, 50));
    }
}
