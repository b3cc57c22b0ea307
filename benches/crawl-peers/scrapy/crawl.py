"""Scrapy for `cargo xtask bench crawl`: `crawl.py DIRECTORY SECONDS`. Follows every link of every page within the web."""

import pathlib
import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Bench(scrapy.Spider):
    """Starts at the lines of seeds.txt."""

    name = "bench"
    start_urls = (pathlib.Path(sys.argv[1]) / "seeds.txt").read_text().split()
    allowed_domains = [url.split("/")[2].split(":")[0] for url in start_urls]

    def parse(self, response):
        """Every `a href`, as scrapy's tutorial does it."""
        yield from response.follow_all(css="a::attr(href)")


process = CrawlerProcess(
    settings={
        "ROBOTSTXT_OBEY": True,
        "USER_AGENT": "BenchBot/1.0 (+https://example.com/bot)",
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "CLOSESPIDER_TIMEOUT": int(sys.argv[2]),
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Bench)
process.start()
