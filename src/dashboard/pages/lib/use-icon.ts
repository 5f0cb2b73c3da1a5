import { useEffect, useState } from 'preact/hooks'
import { InTurn } from './in-turn.ts'

const AT_ONCE = 2

const icons = new InTurn(
  (url) =>
    new Promise((resolve) => {
      const image = new Image()
      image.onload = () => resolve(true)
      image.onerror = () => resolve(false)
      image.src = url
    }),
  AT_ONCE,
)

/** The URL of an image once it has loaded; undefined before that, and when there is none. */
export function useIcon(url: string | undefined): string | undefined {
  const [loaded, setLoaded] = useState<string>()
  useEffect(() => (url === undefined ? undefined : icons.add(url, () => setLoaded(url))), [url])
  return loaded === url ? loaded : undefined
}
