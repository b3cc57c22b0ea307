use crate::Target;
use crate::dice::Dice;

/// Pages made from the web's seed when they are asked for: nothing is stored for them.
///
/// Page 0 is `/`, page *i* is `/p/i`. The first half of a page's links makes a tree, so that every page is reachable
/// from `/`; the others are drawn from the seed, on the origin or off it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    pages: u32,
    links: u32,
    off_origin_percent: u8,
    bytes: u64,
}

impl Generated {
    /// So many pages (at least one) with so many links each.
    #[must_use]
    pub const fn new(pages: u32, links: u32) -> Self {
        let pages = if pages == 0 { 1 } else { pages };
        Self { pages, links, off_origin_percent: 10, bytes: 2_000 }
    }

    /// How many of a hundred drawn links leave the origin; 10 if not said, more than 100 counts as 100.
    #[must_use]
    pub const fn off_origin_percent(mut self, percent: u8) -> Self {
        self.off_origin_percent = percent;
        self
    }

    /// Size of every page in bytes; 2,000 if not said. Pages whose links need more are longer.
    #[must_use]
    pub const fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// How many pages there are.
    #[must_use]
    pub const fn pages(&self) -> u32 {
        self.pages
    }

    pub(crate) const fn size(&self) -> u64 {
        self.bytes
    }

    /// Path of page `number`.
    pub(crate) fn path(number: u32) -> String {
        if number == 0 { "/".to_owned() } else { format!("/p/{number}") }
    }

    /// The page at `target`, written exactly as [`Self::path`] writes it.
    pub(crate) fn page_at(&self, target: &str) -> Option<u32> {
        if target == "/" {
            return Some(0);
        }
        let digits = target.strip_prefix("/p/")?;
        let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse::<u32>().ok().filter(|_| plain)?;
        (number < self.pages).then_some(number)
    }

    /// The links of a page: its children in the tree, then drawn ones. `others` tells the pages of another site.
    pub(crate) fn links(
        &self,
        seed: u64,
        site: usize,
        page: u32,
        others: &dyn Fn(usize) -> Option<u32>,
        sites: usize,
    ) -> Vec<Target> {
        let arity = u64::from((self.links / 2).max(1).min(self.links));
        let first = u64::from(page) * arity + 1;
        let mut links: Vec<Target> = (first..first + arity)
            .filter_map(|child| u32::try_from(child).ok().filter(|child| *child < self.pages))
            .map(|child| Target::Here(Self::path(child)))
            .collect();
        let mut dice = Dice::at(seed, &[1, site as u64, page.into()]);
        while links.len() < self.links as usize {
            links.push(self.draw(&mut dice, site, others, sites));
        }
        links
    }

    fn draw(&self, dice: &mut Dice, site: usize, others: &dyn Fn(usize) -> Option<u32>, sites: usize) -> Target {
        let leaves = sites > 1 && dice.below(100) < u64::from(self.off_origin_percent);
        if !leaves {
            return Target::Here(Self::path(draw_page(dice, self.pages)));
        }
        let step = usize::try_from(dice.below(sites as u64 - 1)).unwrap_or(0) + 1;
        let other = (site + step) % sites;
        Target::At(other, others(other).map_or_else(|| "/".to_owned(), |pages| Self::path(draw_page(dice, pages))))
    }
}

fn draw_page(dice: &mut Dice, pages: u32) -> u32 {
    u32::try_from(dice.below(pages.into())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_page_numbers_are_one_to_one() {
        let generated = Generated::new(12, 3);
        for number in 0..12 {
            assert_eq!(generated.page_at(&Generated::path(number)), Some(number));
        }
        for target in ["", "/p/", "/p/0", "/p/01", "/p/12", "/p/+1", "/p/1?x", "/p/99999999999", "/P/1"] {
            assert_eq!(generated.page_at(target), None, "{target}");
        }
    }

    #[test]
    fn every_page_is_reachable_from_the_first_and_links_are_as_many_as_asked() {
        for (pages, links) in [(1, 1), (10, 1), (100, 2), (400, 50), (57, 7)] {
            let generated = Generated::new(pages, links).off_origin_percent(30);
            let (mut seen, mut todo) = (vec![false; pages as usize], vec![0]);
            while let Some(page) = todo.pop() {
                if std::mem::replace(&mut seen[page as usize], true) {
                    continue;
                }
                let found = generated.links(7, 0, page, &|_| Some(5), 4);
                assert_eq!(found.len(), links as usize);
                let here = found.iter().filter_map(|link| match link {
                    Target::Here(path) => generated.page_at(path),
                    _ => None,
                });
                todo.extend(here);
            }
            assert!(seen.iter().all(|seen| *seen), "{pages} pages, {links} links");
        }
    }

    #[test]
    fn off_origin_links_never_point_home() {
        let generated = Generated::new(5, 40).off_origin_percent(100);
        let links = generated.links(1, 2, 0, &|_| None, 3);
        assert!(links.iter().all(|link| !matches!(link, Target::At(2, _))));
        assert!(links.iter().any(|link| matches!(link, Target::At(0 | 1, _))));
    }
}
