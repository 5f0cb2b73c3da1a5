import type { ClientHeader } from './head.ts'

/** A proxy that publishes its networks. */
interface PublishedProxy {
  readonly networks: readonly string[]
  readonly header?: ClientHeader
  /** See `ProxyHop`. */
  readonly ownEntries?: number
  readonly hasClients?: boolean
}

/**
 * Networks from which proxies connect to the servers of their customers, as published on the given day. Each changes about once a
 * year. A newer network is given beside the name: `TRUSTED_PROXIES=cloudflare,203.0.113.0/24`.
 *
 * All customers of a proxy share its networks. So a server that trusts one should take only requests of its own account, by a secret
 * header or a client certificate.
 */
export const PUBLISHED_PROXIES: Readonly<Record<string, PublishedProxy>> = {
  // https://www.cloudflare.com/ips, as of 2026-08-22. It overwrites CF-Connecting-IP. Its networks are also those of WARP and of Workers.
  cloudflare: {
    networks: [
      ...['103.21.244.0/22', '103.22.200.0/22', '103.31.4.0/22', '104.16.0.0/13', '104.24.0.0/14', '108.162.192.0/18'],
      ...['131.0.72.0/22', '141.101.64.0/18', '162.158.0.0/15', '172.64.0.0/13', '173.245.48.0/20', '188.114.96.0/20'],
      ...['190.93.240.0/20', '197.234.240.0/22', '198.41.128.0/17'],
      ...['2400:cb00::/32', '2405:8100::/32', '2405:b500::/32', '2606:4700::/32', '2803:f800::/32', '2a06:98c0::/29'],
      '2c0f:f248::/32',
    ],
    header: 'cf-connecting-ip',
    hasClients: true,
  },
  // https://api.fastly.com/public-ip-list, as of 2026-09-01. It appends X-Forwarded-For to requests over TLS, and keeps a
  // Fastly-Client-IP that the visitor sends.
  fastly: {
    networks: [
      ...[
        '23.235.32.0/20',
        '43.249.72.0/22',
        '103.244.50.0/24',
        '103.245.222.0/23',
        '103.245.224.0/24',
        '104.156.80.0/20',
      ],
      ...['140.248.64.0/18', '140.248.128.0/17', '146.75.0.0/17', '151.101.0.0/16', '157.52.64.0/18', '167.82.0.0/17'],
      ...[
        '167.82.128.0/20',
        '167.82.160.0/20',
        '167.82.224.0/20',
        '172.111.64.0/18',
        '185.31.16.0/22',
        '199.27.72.0/21',
      ],
      ...['199.232.0.0/16', '2a04:4e40::/32', '2a04:4e42::/32'],
    ],
    header: 'x-forwarded-for',
  },
  // https://docs.cloud.google.com/load-balancing/docs/firewall-rules, as of 2026-11: the front ends of Cloud Load Balancing. They append the
  // client, and then the address of the load balancer.
  google: {
    networks: ['35.191.0.0/16', '130.211.0.0/22', '2600:2d00:1:1::/64', '2600:2d00:1:b029::/64'],
    header: 'x-forwarded-for',
    ownEntries: 1,
  },
}

/** Proxies whose networks are too many and change too often for a copy, with what to write in place of the name. */
export const UNPUBLISHED_PROXIES: Readonly<Record<string, string>> = {
  cloudfront:
    'ipid has no list of CloudFront, because it changes often: give its networks themselves, those of the service CLOUDFRONT_ORIGIN_FACING in https://ip-ranges.amazonaws.com/ip-ranges.json',
  azure:
    'ipid has no list of Azure Front Door, because it changes often: give its networks themselves, those of AzureFrontDoor.Backend in the service tags of Azure (https://www.microsoft.com/en-us/download/details.aspx?id=56519)',
}
