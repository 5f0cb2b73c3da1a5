import { example } from './place.js'

/**
 * Matomo's own script is on no registry. These are the requests that its documentation describes (Tracking HTTP API): the beacon that
 * has its parameters in the query, the form, the image, and a bulk request.
 */
example(async ({ base, key }) => {
  const url = `${base}/s/matomo/${key}/matomo.php`
  const query = (parameters) =>
    new URLSearchParams({ idsite: '1', rec: '1', url: location.href, urlref: 'https://ref.example/', ...parameters })
  const form = 'application/x-www-form-urlencoded; charset=UTF-8'
  navigator.sendBeacon(
    `${url}?${query({ action_name: 'Home', _id: '0123456789abcdef' })}`,
    new Blob([], { type: form }),
  )
  navigator.sendBeacon(url, new Blob([query({ e_c: 'Shop', e_a: 'Buy' })], { type: form }))
  const image = await new Promise((resolve) => {
    const element = new Image(1, 1)
    element.onload = () => resolve('load')
    element.onerror = () => resolve('error')
    element.src = `${url}?${query({ link: 'https://other.example/' })}`
  })
  const answer = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ requests: [`?${query({ uid: 'jane' })}`] }),
  })
  return { image, bulk: await answer.json() }
})
