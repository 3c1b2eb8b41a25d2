import { parseUrl } from '../../lib/model/url.js';

describe('parseUrl', () => {
  it('reads a URL as the URL standard does', () => {
    expect(parseUrl('HTTPS://Example.com:443/a')?.href).toBe('https://example.com/a');
  });

  it.each(['', 'example.com', 'https://', 'https://exa mple/', 'https://[::1/'])(
    'answers null for %j',
    (text) => {
      expect(parseUrl(text)).toBeNull();
    },
  );

  it('reads Latin-1 letters the ten-thousandth time as the first', () => {
    let refused = 0;
    for (let call = 0; call < 20_000; call += 1) {
      if (parseUrl('https://münchen.example/ü')?.hostname !== 'xn--mnchen-3ya.example') refused += 1;
    }
    expect(refused).toBe(0);
  });
});
