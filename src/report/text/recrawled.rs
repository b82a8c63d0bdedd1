//! What has become of pages since their last visit, for people.

use super::page::TextPage;
use crate::crawl::RecrawlCounts;
use crate::report::figures::thousands;
use crate::report::{RecrawlFigures, Report};

impl Report {
    pub(super) fn recrawled_in_brief(&self, page: &mut TextPage) {
        let Some(RecrawlFigures { unmet, counts, .. }) = self.recrawl else { return };
        let RecrawlCounts { new, changed, unchanged, gone, .. } = counts;
        let [new, changed, unchanged, gone] = [new, changed, unchanged, gone].map(thousands);
        let unmet = unmet.map_or_else(String::new, |unmet| format!("; {} not met", thousands(unmet)));
        page.entry(
            "since last visit",
            &format!("{new} new, {changed} changed, {unchanged} unchanged, {gone} gone{unmet}"),
        );
    }

    pub(super) fn recrawled(&self, page: &mut TextPage) {
        let Some(RecrawlFigures { known, unmet, counts }) = self.recrawl else { return };
        let RecrawlCounts { new, changed, unchanged, gone, failed, not_modified, .. } = counts;
        let known = known.map_or_else(String::new, |known| format!("of {} that were known", thousands(known)));
        let told = format!("{} of them told by a 304", thousands(not_modified));
        for (name, count, note) in [
            ("new since the last visit", new, ""),
            ("changed", changed, &known),
            ("unchanged", unchanged, &told),
            ("gone", gone, "404 or 410"),
            ("known, and cannot be told", failed, "no page, or an error"),
        ] {
            page.fact(name, &thousands(count), note);
        }
        if let Some(unmet) = unmet {
            page.fact("known, and not met", &thousands(unmet), "crawler unmet lists them");
        }
    }
}
