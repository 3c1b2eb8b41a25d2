import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  Module,
  UnauthorizedException,
} from '@nestjs/common';

export interface User {
  name: string;
  role: 'operator' | 'customer';
  /** The tenant whose webhooks are theirs. */
  orgId: string;
}

/** In real life: sessions, tokens of an identity provider. Here two fixed tokens. */
@Injectable()
export class AuthService {
  private readonly users: [token: string, user: User][] = [
    [process.env.OPERATOR_TOKEN ?? 'operator-token', { name: 'Olga', role: 'operator', orgId: 'shop' }],
    [process.env.CUSTOMER_TOKEN ?? 'customer-token', { name: 'Carl', role: 'customer', orgId: 'acme' }],
  ];

  userOf(authorization: string | null | undefined): User | null {
    const given = digest(authorization ?? '');
    return this.users.find(([token]) => timingSafeEqual(given, digest(`Bearer ${token}`)))?.[1] ?? null;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly auth: AuthService) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    request.user = this.auth.userOf(request.headers.authorization);
    if (!request.user) throw new UnauthorizedException();
    return true;
  }
}

export const CurrentUser = createParamDecorator(
  (_: unknown, context: ExecutionContext): User => context.switchToHttp().getRequest().user,
);

@Module({ providers: [AuthService, AuthGuard], exports: [AuthService, AuthGuard] })
export class AuthModule {}
