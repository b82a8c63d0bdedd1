"""One crawl by Scrapy: `scrapy runspider with_scrapy.py -a start=URL -a hosts=FILE -s CONCURRENT_REQUESTS=N`."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class Links(scrapy.Spider):
    """Follows every link that stays on the hosts; its extractor leaves out what ends like a picture or an archive."""

    name = "links"

    def __init__(self, start: str, hosts: str) -> None:
        super().__init__()
        self.start_urls = [start]
        port = f":{urlsplit(start).port}" if urlsplit(start).port else ""
        self.extractor = LinkExtractor(
            allow_domains=[host + port for host in Path(hosts).read_text().split()],
            tags=("a", "area", "frame", "iframe"),
            attrs=("href", "src"),
        )

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if isinstance(response, HtmlResponse):
            for link in self.extractor.extract_links(response):
                yield scrapy.Request(link.url)
