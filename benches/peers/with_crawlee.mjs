// One crawl by Crawlee's HTTP crawler: `node with_crawlee.mjs MODULES START HOSTS AT_ONCE`.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, start, hostsFile, atOnce] = process.argv.slice(2);
const { CheerioCrawler, Configuration, log } = createRequire(join(modules, 'x.js'))('@crawlee/cheerio');
const hosts = new Set(readFileSync(hostsFile, 'utf8').split('\n'));
log.setLevel(log.LEVELS.ERROR);

const crawler = new CheerioCrawler(
    {
        minConcurrency: Number(atOnce),
        maxConcurrency: Number(atOnce),
        maxRequestRetries: 0,
        useSessionPool: false,
        respectRobotsTxtFile: false,
        // Default content types only: what is neither HTML nor XML fails without being read.
        requestHandler: ({ enqueueLinks }) =>
            enqueueLinks({
                selector: 'a[href], area[href]',
                strategy: 'all',
                transformRequestFunction: (request) => hosts.has(new URL(request.url).hostname) && request,
            }),
    },
    new Configuration({ persistStorage: false, memoryMbytes: 8192 }),
);
await crawler.run([start]);
