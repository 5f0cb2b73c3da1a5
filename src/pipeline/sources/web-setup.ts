import type { SetupBlock } from '../declaration/source.ts'
import { ABOUT_BROWSER } from './tools/tool-source.ts'

/** The path on a site that its web server passes on to the API. */
const OWN_PATH = '/visits'

/**
 * What people paste for the script tag. test/browser/source-sdks.test.ts and test/extended/web-recipes.test.ts run these texts.
 * @param base `https://host:port`
 */
export function webSetup(base: string, key: string): readonly SetupBlock[] {
  const script = `${base}/s/web/${key}.js`
  return [...basics(base, script), ...choices(), ...places(base, script, key), ...ownPath(base, key)]
}

function basics(base: string, script: string): readonly SetupBlock[] {
  return [
    {
      title: 'In the head of every page',
      about: ABOUT_BROWSER,
      key: 'browser',
      place: 'html',
      code: `<script async src="${script}"></script>`,
    },
    {
      title: 'Only for pages with a Content-Security-Policy: allow this',
      key: 'browser',
      code: `script-src ${base}; connect-src ${base}`,
    },
    {
      title: 'Only to send events of your own: once in the page, before the first of them',
      key: 'browser',
      code: '<script>window.ipid = window.ipid || ((...call) => (ipid.q = ipid.q || []).push(call))</script>',
    },
    {
      title: 'An event of your own',
      about: 'Call it when that happens, not with each page view.',
      key: 'browser',
      isSample: true,
      code: "ipid('track', NAME_OF_THE_EVENT, { plan: NAME_OF_THE_PLAN })",
    },
    {
      title: 'Who the visitor is',
      about: 'Call it after a person signed up or signed in. It is stored, and proves nothing about a company.',
      key: 'browser',
      isSample: true,
      code: "ipid('identify', { email: EMAIL_OF_THE_VISITOR })",
    },
  ]
}

function choices(): readonly SetupBlock[] {
  return [
    {
      title: 'Settings, as attributes of the tag',
      key: 'browser',
      isSample: true,
      code: `data-exclude="/admin/*,/checkout"  sends nothing from these paths; * is any text
data-outbound                      sends "outlink" for clicks on links to other sites
data-downloads                     sends "download" for clicks on files; ="pdf,zip" says which
data-hash                          #/pricing is a page: /pricing
data-manual                        sends no page view but those of ipid('page')
data-consent="required"            sends and stores nothing before ipid('optIn')`,
    },
    {
      title: 'What a visitor chooses',
      about:
        'The browser keeps the choice. optOut also deletes what the tag has stored there. Browsers with Global Privacy Control or Do Not Track send and store nothing, whatever is called.',
      key: 'browser',
      isSample: true,
      code: `ipid('optIn')
ipid('optOut')`,
    },
  ]
}

function places(base: string, script: string, key: string): readonly SetupBlock[] {
  return [
    {
      title: 'Only for visitors without JavaScript: in the body of every page',
      about: `It knows no settings: leave it out with data-consent. A Content-Security-Policy also needs img-src ${base}.`,
      key: 'browser',
      code: `<noscript><img src="${base}/s/web/${key}/page.gif" alt="" width="1" height="1" referrerpolicy="no-referrer-when-downgrade"></noscript>`,
    },
    {
      title: 'Google Tag Manager, in place of the tag: a Custom HTML tag, fired on Initialization',
      about:
        "Tag Manager keeps no data- attributes of a script tag, so settings are calls: script.setAttribute('data-outbound', '').",
      key: 'browser',
      place: 'tag-manager',
      code: `<script>
(function () {
  var script = document.createElement('script')
  script.async = true
  script.src = '${script}'
  document.head.appendChild(script)
})()
</script>`,
    },
    {
      title: 'WordPress, in place of the tag: in functions.php of the theme, or in a plugin for code',
      about: 'Settings come after async.',
      key: 'browser',
      place: 'wordpress',
      code: `add_action( 'wp_enqueue_scripts', function () {
  wp_enqueue_script( 'ipid', '${script}', array(), null );
} );
add_filter( 'script_loader_tag', function ( $tag, $handle ) {
  return 'ipid' === $handle ? str_replace( ' src=', ' async src=', $tag ) : $tag;
}, 10, 2 );`,
    },
    {
      title: 'Shopify, in place of the tag: in layout/theme.liquid of the theme, right before </head>',
      about:
        'Online Store, Themes, Edit code opens the file. The pages of the checkout are not made of it, so their views are not counted.',
      key: 'browser',
      place: 'shopify',
      code: `<script async src="${script}"></script>`,
    },
    {
      title: 'Next.js, in place of the tag: app/ipid.tsx, and <Ipid /> in the body of app/layout.tsx',
      about: 'Settings are attributes with a value: data-outbound="true".',
      key: 'browser',
      place: 'next.js',
      code: `import Script from 'next/script'

export function Ipid() {
  return <Script src="${script}" />
}`,
    },
  ]
}

/** A path of the site itself: no content security policy and no blocker of foreign scripts stops it. */
function ownPath(base: string, key: string): readonly SetupBlock[] {
  const trust = 'TRUSTED_PROXIES of ipid must hold the address that this web server has for ipid; 127.0.0.1 is trusted.'
  return [
    {
      title: 'nginx, to pass a path of your site on: in its server block',
      about: trust,
      code: `location ${OWN_PATH}/ {
  proxy_pass ${base}/s/web/;
  proxy_http_version 1.1;
  proxy_ssl_server_name on;
  proxy_set_header Connection "";
  proxy_set_header Host $proxy_host;
  proxy_set_header Cookie "";
  proxy_set_header X-Forwarded-For $remote_addr;
}`,
    },
    {
      title: 'Caddy, to pass a path of your site on: in its site block',
      about: trust,
      code: `handle_path ${OWN_PATH}/* {
  rewrite * /s/web{uri}
  reverse_proxy ${base} {
    header_up Host {upstream_hostport}
    header_up -Cookie
  }
}`,
    },
    {
      title: 'The tag for a path of your site',
      key: 'browser',
      code: `<script async src="${OWN_PATH}/${key}.js"></script>`,
    },
  ]
}
