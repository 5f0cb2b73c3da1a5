import assert from 'node:assert/strict'
import { test } from 'node:test'
import { iconLinksOf } from '../../../src/dashboard/favicons/icon-links.ts'
import { imageTypeOf } from '../../../src/dashboard/favicons/image-type.ts'
import { InTurn } from '../../../src/dashboard/pages/lib/in-turn.ts'
import { GIF, ICO, JPEG, PNG, WEBP } from '../../support/icons.ts'

test('raster images are recognised by their first bytes, and nothing else is', () => {
  const types = new Map<Buffer, string>([
    [PNG, 'image/png'],
    [ICO, 'image/x-icon'],
    [JPEG, 'image/jpeg'],
    [GIF, 'image/gif'],
    [WEBP, 'image/webp'],
  ])
  for (const [bytes, type] of types) assert.equal(imageTypeOf(bytes), type)
  const others = [
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '\ufeff<svg/>',
    '<!doctype html>',
    'GIF8',
    '{}',
    'RIFF',
  ]
  for (const text of [...others, 'RIFF0000WAVE', '<?xml version="1.0"?><svg/>']) {
    assert.equal(imageTypeOf(Buffer.from(text)), undefined, text)
  }
  assert.equal(imageTypeOf(PNG.subarray(0, 7)), undefined)
  assert.equal(imageTypeOf(ICO.subarray(0, 10)), undefined, 'a directory that is cut')
  assert.equal(
    imageTypeOf(Buffer.concat([Buffer.from('0000010000000101', 'hex'), PNG])),
    undefined,
    'an empty directory',
  )
  assert.equal(imageTypeOf(Buffer.concat([Buffer.from('000002000100', 'hex'), PNG])), undefined, 'a cursor')
})

/** Bytes with others in their place. */
const patched = (bytes: Buffer, at: number, hex: string): Buffer => {
  const copy = Buffer.from(bytes)
  copy.set(Buffer.from(hex, 'hex'), at)
  return copy
}
const PNG_AT = ICO.indexOf(PNG)
const GIF_PICTURE_AT = GIF.indexOf(0x2c)
const JPEG_FRAME_AT = JPEG.indexOf(Buffer.from('ffc0', 'hex'))
const BMP = Buffer.concat([ICO.subarray(0, PNG_AT), Buffer.from('28000000010000000200000001002000', 'hex')])
const VP8X = Buffer.from('524946461e000000574542505650385800000000000000000000000000000000', 'hex')
const VP8L = Buffer.from('524946461e000000574542505650384c000000002f0000000000000000000000', 'hex')

/** An image that a browser may decode, where it has a side, and more than 2,048 pixels there. */
const SIDES: Readonly<Record<string, readonly [image: Buffer, at: number, large: string]>> = {
  'width of PNG': [PNG, 16, '00000801'],
  'height of PNG': [PNG, 20, '80000000'],
  'screen of GIF': [GIF, 6, '0108'],
  'picture of GIF': [GIF, GIF_PICTURE_AT + 7, '0108'],
  'place of a picture of GIF': [GIF, GIF_PICTURE_AT + 1, '0008'],
  'height of JPEG': [JPEG, JPEG_FRAME_AT + 5, '0801'],
  'width of progressive JPEG': [patched(JPEG, JPEG_FRAME_AT, 'ffc2'), JPEG_FRAME_AT + 7, 'ffff'],
  'width of WEBP': [WEBP, 26, '0108'],
  'width of WEBP without loss': [VP8L, 21, '0008'],
  'height of WEBP without loss': [VP8L, 23, '0002'],
  'height of extended WEBP': [VP8X, 27, '000800'],
  'PNG in ICO': [ICO, PNG_AT + 16, '00000801'],
  'BMP in ICO': [BMP, PNG_AT + 4, '01080000'],
  'height of BMP in ICO': [BMP, PNG_AT + 8, '00000080'],
}
for (const [name, [image, at, large]] of Object.entries(SIDES)) {
  test(`an image that would fill the memory of a browser does not pass: ${name}`, () => {
    assert.notEqual(imageTypeOf(image), undefined)
    assert.equal(imageTypeOf(patched(image, at, large)), undefined)
    for (let end = 0; end < at; end++) assert.equal(imageTypeOf(image.subarray(0, end)), undefined, 'cut')
  })
}

const LINKS: Readonly<Record<string, readonly [html: string, links: readonly string[]]>> = {
  'in any form': [`<LINK  Href='/a.png'\n rel="Shortcut ICON"><link rel=icon href=b.ico>`, ['/a.png', 'b.ico']],
  'not others': ['<link rel="stylesheet" href="a.css"><link rel="mask-icon" href="m.png"><a rel=icon href="x">', []],
  'not SVG': [
    '<link rel=icon href="a.svg?1"><link rel=icon type="image/svg+xml" href=b><link rel=icon href=c.png>',
    ['c.png'],
  ],
  'the smallest that is sharp': [
    '<link rel=icon sizes=16x16 href=16><link rel=icon sizes=192x192 href=192><link rel=icon sizes="96x96" href=96>',
    ['96', '192'],
  ],
  'the largest of small ones': ['<link rel=icon sizes=16x16 href=16><link rel=icon sizes=48x48 href=48>', ['48', '16']],
  'those for Apple': ['<link rel=icon href=32><link rel="apple-touch-icon" href=180>', ['180', '32']],
  'once each, and only two': [
    '<link rel=icon href=1><link rel=icon href=1><link rel=icon href=2><link rel=icon href=3>',
    ['1', '2'],
  ],
  'with an ampersand': ['<link rel=icon href="/i?a=1&amp;b=2">', ['/i?a=1&b=2']],
  'the first of two': ['<link rel=icon href=1 href=2>', ['1']],
  'none without an address': ['<link rel=icon><link rel=icon href="">', []],
  'none in a page that is cut': ['<link rel=icon href="/a', []],
}
for (const [name, [html, links]] of Object.entries(LINKS)) {
  test(`icons of a page: ${name}`, () => assert.deepEqual(iconLinksOf(html), links))
}

test('a hostile page takes no time', () => {
  for (const piece of ['<link ', '<link a="', '<link a=', "<link rel=icon href='", '<link a ']) {
    assert.deepEqual(
      iconLinksOf(piece.repeat(20_000)).filter((href) => !href.includes('<')),
      [],
    )
  }
})

test('icons load two at a time, in order, and those that left the page are skipped', async () => {
  const begun: string[] = []
  const ends = new Map<string, (isLoaded: boolean) => void>()
  const load = (url: string) => {
    begun.push(url)
    return new Promise<boolean>((resolve) => ends.set(url, resolve))
  }
  const queue = new InTurn(load, 2)
  const loaded: string[] = []
  const withdraw = ['a', 'b', 'c', 'd', 'e'].map((url) => queue.add(url, () => loaded.push(url)))
  assert.deepEqual(begun, ['a', 'b'])
  withdraw[2]!()
  withdraw[1]!()
  const end = async (url: string, isLoaded: boolean) => {
    ends.get(url)!(isLoaded)
    await new Promise(setImmediate)
  }
  await end('b', true)
  assert.deepEqual(begun, ['a', 'b', 'd'])
  await end('a', true)
  await end('d', false)
  await end('e', true)
  assert.deepEqual(
    [begun, loaded],
    [
      ['a', 'b', 'd', 'e'],
      ['a', 'e'],
    ],
  )
})
